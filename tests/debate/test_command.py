from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import Field

from debate.command import Command, Invocation
from debate.config import Config, Variants
from debate.errors import BudgetError, DissoiError, ModelAccessError, SourceError, StoreError


class RunConfig(Config):
    seed: int = Field(0, description="the seed")
    name: str


class FlagsConfig(Config):
    size: int = Field(8, description="the size")
    spread: float = Field(1.5, ge=0, description="the spread")


class ListConfig(Config):
    sources: tuple[str, ...] = Field(min_length=1, description="what is read")
    seed: int = Field(0, description="the seed")


class Recorder:
    """A command's work: keeps what it was given, then ends as told."""

    def __init__(self, ending: BaseException | int = 0) -> None:
        self.ending = ending
        self.seen: list[tuple[RunConfig, Invocation]] = []

    def __call__(self, config: RunConfig, invocation: Invocation) -> int:
        self.seen.append((config, invocation))
        if isinstance(self.ending, BaseException):
            raise self.ending
        return self.ending


def command(run: Recorder, default: Path | None = None) -> Command[RunConfig]:
    return Command("tournaments.test", "Does nothing.", RunConfig, run, default)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text("name: x\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--seed", "1", "--help"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run = Recorder()
    assert command(run).main(arguments) == 0
    out, err = capsys.readouterr()
    assert "usage: python -m tournaments.test" in out
    for text in ("Does nothing.", "--resume DIR", "--dry-run", "--seed  the seed (default 0)", "--name   (required)"):
        assert text in out
    assert (err, run.seen) == ("", [])


def test_flags_override_the_file(config: Path) -> None:
    run = Recorder()
    arguments = ["--config", str(config), "--seed", "3", "--output=out", "--dry-run", "--name=a=b"]
    assert command(run).main(arguments) == 0
    assert run.seen == [(RunConfig(seed=3, name="a=b"), Invocation(Path("out"), None, dry_run=True))]


def test_a_negative_number_is_a_value(config: Path) -> None:
    run = Recorder()
    assert command(run, config).main(["--seed", "-3"]) == 0
    assert run.seen[0][0].seed == -3


def test_a_run_goes_on_with_its_own_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("name: kept\nprovenance: {git: abc}\n", encoding="utf-8")
    run = Recorder()
    assert command(run).main(["--resume", str(tmp_path)]) == 0
    assert run.seen == [(RunConfig(name="kept"), Invocation(resume=tmp_path))]


def test_the_exit_code_of_the_work_is_returned(config: Path) -> None:
    assert command(Recorder(1), config).main([]) == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--sed", "3"], "sed: unknown key; did you mean seed?"),
        (["--seed", "x"], "seed: Input should be a valid integer"),
        (["--seed"], "--seed needs a value"),
        (["--output", "--dry-run"], "--output needs a value"),
        (["--dry-run=false"], "--dry-run takes no value"),
        (["seed", "3"], "'seed' is not a flag"),
        (["--", "x"], "'--' is not a flag"),
        (["--seed", "1", "--seed.deep", "3"], "--seed.deep: seed is a plain value"),
        (["--config", "absent.yaml"], "cannot read the configuration absent.yaml"),
        (["--resume", "absent"], "absent is no run folder (config.yaml is missing)"),
        (["--name", "null"], "name: Input should be a valid string"),
        (["--seed", "[1"], "--seed: not YAML"),
    ],
)
def test_wrong_flags_are_one_line_and_exit_2(
    arguments: list[str], text: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Recorder()
    assert command(run, config).main(arguments) == 2
    out, err = capsys.readouterr()
    assert run.seen == []
    assert out == ""
    assert err.startswith("tournaments.test: ")
    assert err.count("\n") == 1
    assert text in err


def test_no_configuration_and_missing_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(Recorder()).main([]) == 2
    assert "give one with --config" in capsys.readouterr().err
    empty = tmp_path / "empty.yaml"
    empty.write_text("", encoding="utf-8")
    assert command(Recorder(), empty).main([]) == 2
    assert capsys.readouterr().err == (
        f"tournaments.test: {empty}: name: missing; set it in the configuration or by a flag\n"
    )


def test_a_configuration_of_defaults_needs_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[FlagsConfig] = []

    def run(config: FlagsConfig, _: Invocation) -> int:
        seen.append(config)
        return 0

    flags = Command("tournaments.test", "Does nothing.", FlagsConfig, run)
    assert flags.main([]) == 0
    assert flags.main(["--size", "3"]) == 0
    (tmp_path / "c.yaml").write_text("spread: 2\n", encoding="utf-8")
    assert flags.main(["--config", str(tmp_path / "c.yaml"), "--size", "3"]) == 0
    assert seen == [FlagsConfig(), FlagsConfig(size=3), FlagsConfig(size=3, spread=2)]
    assert flags.main(["--sise", "3"]) == 2
    assert capsys.readouterr().err == "tournaments.test: flags: sise: unknown key; did you mean size?\n"
    assert flags.main(["--help"]) == 0
    assert "usage: python -m tournaments.test [--config FILE] [flags]" in capsys.readouterr().out
    assert "usage: python -m tournaments.test --config FILE [flags]" in command(Recorder()).help()


def test_required_keys_that_flags_set_need_no_file() -> None:
    run = Recorder()
    assert command(run).main(["--name", "given"]) == 0
    assert run.seen[0][0] == RunConfig(name="given")


def listing(seen: list[tuple[ListConfig, Invocation]]) -> Command[ListConfig]:
    def run(config: ListConfig, invocation: Invocation) -> int:
        seen.append((config, invocation))
        return 0

    return Command("tournaments.test", "Reads.", ListConfig, run, positional="sources")


def test_arguments_without_a_flag_fill_a_list(tmp_path: Path) -> None:
    seen: list[tuple[ListConfig, Invocation]] = []
    test = listing(seen)
    assert test.main(["one", "--seed", "3", "nyu:a=b.gz", "--dry-run", "12"]) == 0
    assert seen.pop() == (ListConfig(sources=("one", "nyu:a=b.gz", "12"), seed=3), Invocation(dry_run=True))
    file = tmp_path / "c.yaml"
    file.write_text("sources: [kept]\n", encoding="utf-8")
    assert test.main(["--config", str(file), "new", "kept"]) == 0  # what is listed is not added again
    assert seen.pop()[0].sources == ("kept", "new")
    assert test.main(["--config", str(file)]) == 0
    assert seen.pop()[0].sources == ("kept",)
    (tmp_path / "config.yaml").write_text("sources: [kept]\nprovenance: {}\n", encoding="utf-8")
    assert test.main(["kept", "--resume", str(tmp_path)]) == 0
    assert seen.pop() == (ListConfig(sources=("kept",)), Invocation(resume=tmp_path))
    assert "usage: python -m tournaments.test [--config FILE] SOURCES ... [flags]" in test.help()
    assert "appended to --sources" in test.help()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give one with --config FILE (examples in configs/), or sources as arguments"),
        (["one", "-x"], "'-x' is not a flag"),
        (["one", "--sed", "3"], "sed: unknown key; did you mean seed?"),
        (["one", "--sources", "two"], "sources is 'two', to which 'one' cannot be appended; make it a list"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[ListConfig, Invocation]] = []
    assert listing(seen).main(arguments) == 2
    assert seen == []
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert text in err


@pytest.mark.parametrize("kind", [BudgetError, DissoiError, ModelAccessError, SourceError, StoreError])
def test_an_error_of_ours_is_one_line_and_exit_2(
    kind: type[DissoiError], config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(Recorder(kind("what, where, do this")), config).main([]) == 2
    assert capsys.readouterr().err == "tournaments.test: what, where, do this\n"


def test_ctrl_c_is_130(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(Recorder(KeyboardInterrupt()), config).main([]) == 130
    assert "--resume" in capsys.readouterr().err


def test_a_fault_of_ours_is_not_hidden(config: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        command(Recorder(ZeroDivisionError()), config).main([])


def test_the_shell_imports_nothing_heavy() -> None:
    code = (
        "import sys; import debate.command; "
        "print([m for m in ('torch', 'transformers', 'openai', 'scipy', 'plotly', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_shadowing_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "__init__.py").write_text("")
    code = "from tournaments.swiss import COMMAND; import sys; sys.exit(COMMAND.main(['--config', 'none.yaml']))"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"training from {tmp_path}" in done.stderr


class SwitchConfig(Config):
    grid: bool = Field(default=False, description="all against all")
    seed: int = Field(0, description="the seed")


class ReadConfig(Config):
    outcomes: str = Field(description="what is read")


def switched(*arguments: str) -> tuple[int, list[Config]]:
    seen: list[Config] = []

    def run(config: Config, _invocation: Invocation) -> int:
        seen.append(config)
        return 0

    told: Variants[Config] = Variants("", {}, {"outcomes": ReadConfig, "seed": SwitchConfig})
    return Command("tournaments.test", "Does nothing.", told, run).main(list(arguments)), seen


@pytest.mark.parametrize(
    ("flags", "grid"),
    [(["--grid"], True), (["--grid", "--seed=2"], True), (["--grid", "false"], False), (["--grid=true"], True)],
)
def test_a_flag_for_true_or_false_may_stand_alone(flags: list[str], grid: bool) -> None:  # noqa: FBT001 - parametrized
    code, seen = switched("--seed", "1", *flags)
    assert code == 0
    assert [one.grid for one in seen if isinstance(one, SwitchConfig)] == [grid]


class PaperConfig(Config):
    against_paper: bool = Field(default=False, description="beside the paper")
    tags: dict[str, str] = Field({}, description="tags")


def test_a_flag_may_have_hyphens_and_the_keys_below_it_keep_theirs() -> None:
    seen: list[PaperConfig] = []

    def run(config: PaperConfig, _invocation: Invocation) -> int:
        seen.append(config)
        return 0

    command = Command("tournaments.test", "Does nothing.", PaperConfig, run)
    assert command.main(["--against-paper", "--tags.in-paper=yes-no"]) == 0
    assert command.main(["--against_paper=false"]) == 0
    assert seen == [
        PaperConfig(against_paper=True, tags={"in-paper": "yes-no"}),
        PaperConfig(against_paper=False),
    ]


def test_configurations_told_apart_by_their_keys_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert switched("--outcomes", "x") == (0, [ReadConfig(outcomes="x")])
    assert switched("--grid")[0] == 2
    (tmp_path / "c.yaml").write_text("grid: true\n", encoding="utf-8")
    assert switched("--config", str(tmp_path / "c.yaml"))[0] == 2
    err = capsys.readouterr().err
    assert "none of outcomes, seed is set" in err
    assert switched("--seed")[0] == 2
    assert "--seed needs a value" in capsys.readouterr().err
