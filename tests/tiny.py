"""A tiny random Llama and tiny random adapters for it, as transformers and peft save them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

WORDS = ("<unk>", "<end>", "user", "A", "B", "C", "fog", "sea", "bell", "boat", "lamp", "who")


def save_model(folder: Path, *, seed: int = 0, hidden: int = 32, context: int = 128) -> Path:
    """Save a model of twelve tokens, two layers and random weights, with tokenizer and template.

    Args:
        folder: Where.
        seed: Of the weights.
        hidden: Size of a position's state.
        context: Longest text, in tokens.

    Returns:
        The folder.
    """
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    plain = Tokenizer(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token=WORDS[0]))
    plain.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # the library's
        tokenizer_object=plain, unk_token=WORDS[0], eos_token=WORDS[1], pad_token=WORDS[1]
    )
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} {% endfor %}"
    tokenizer.save_pretrained(str(folder))
    config = LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        eos_token_id=1,
        tie_word_embeddings=False,
        initializer_range=0.5,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        LlamaForCausalLM(config).save_pretrained(str(folder))
    return folder


def save_adapter(base: Path, folder: Path, *, seed: int = 0, rank: int = 4, size: float = 0.3, **options: Any) -> Path:
    """Save a LoRA adapter of random weights, none of them zero, for a saved model.

    Args:
        base: The model's folder.
        folder: Where.
        seed: Of the weights.
        rank: Of the adapter's matrices.
        size: Standard deviation of the weights.
        options: More of peft's, such as other ``target_modules``.

    Returns:
        The folder.
    """
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(str(base), dtype=torch.float32)
    targets = ["q_proj", "v_proj", "o_proj", "down_proj"]
    settings: dict[str, Any] = {
        "r": rank,
        "lora_alpha": 2 * rank,
        "target_modules": targets,
        "task_type": "CAUSAL_LM",
    } | options
    config = LoraConfig(**settings)
    adapted = get_peft_model(model, config)
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                parameter.copy_(size * torch.randn(parameter.shape, generator=noise))
    adapted.save_pretrained(str(folder))
    return folder


def plain_logs(base: Path, adapter: Path | None) -> Callable[[Tensor], Tensor]:
    """Return the next tokens' log-probabilities by transformers and peft as they come, the adapter beside the weights.

    Args:
        base: The model's folder.
        adapter: The adapter's, or None.

    Returns:
        A function from token ids (1, tokens) to log-probabilities (tokens, vocabulary).
    """
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(str(base), dtype=torch.float32)
    if adapter is not None:
        model = PeftModel.from_pretrained(model, str(adapter))
    model.eval()

    def logs(ids: Tensor) -> Tensor:
        with torch.inference_mode():
            found: Tensor = model(ids).logits[0].log_softmax(-1)
        return found

    return logs


def save_reward(base: Path, folder: Path, *, seed: int = 0, rank: int = 4, size: float = 0.3) -> Path:
    """Save a reward model of random weights, adapter and head, for a saved model.

    Args:
        base: The model's folder.
        folder: Where.
        seed: Of the weights.
        rank: Of the adapter's matrices.
        size: Standard deviation of the weights.

    Returns:
        The folder.
    """
    import torch
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=rank, target_modules=["q_proj", "v_proj", "down_proj"], task_type="SEQ_CLS")
    adapted = get_peft_model(_reward_base(base), config)
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_" in name or "modules_to_save" in name:
                parameter.copy_(size * torch.randn(parameter.shape, generator=noise))
    adapted.save_pretrained(str(folder))
    return folder


def plain_reward(base: Path, adapter: Path) -> Callable[[Tensor], float]:
    """Return rewards by transformers and peft as they come, of one unpadded sequence (1, tokens) of ids at a time."""
    import torch
    from peft import PeftModel

    model: Any = PeftModel.from_pretrained(_reward_base(base), str(adapter)).eval()
    model.config.pad_token_id = None  # the last token counts, whichever it is

    def reward(ids: Tensor) -> float:
        with torch.inference_mode():
            return float(model(input_ids=ids).logits[0, 0])

    return reward


def _reward_base(base: Path) -> Any:
    import torch
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(str(base), num_labels=1, dtype=torch.float32)
