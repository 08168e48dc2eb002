"""The errors Dissoi raises. Each message says what was wrong, where, and what to do."""

from __future__ import annotations


class DissoiError(Exception):
    """Base of every error that Dissoi raises on purpose; commands print it as one line and exit with code 2."""


class ConfigError(DissoiError, ValueError):
    """A configuration, a flag or an argument is wrong."""


class SourceError(DissoiError, ValueError):
    """A source of questions or debates cannot be read, is empty or is malformed."""


class FoldError(DissoiError, ValueError):
    """A story would be used in a fold it does not belong to."""


class PromptError(DissoiError, ValueError):
    """A prompt template is missing, malformed or filled with the wrong names."""


class ModelError(DissoiError, RuntimeError):
    """A model call failed for good; the debate that needed it is recorded as failed."""


class ContextError(ModelError):
    """A prompt and its reply do not fit the model's context; raised before the call."""


class ModelAccessError(DissoiError, RuntimeError):
    """No call to this model can succeed (missing key, unreachable server, unknown model); the run stops."""


class BudgetError(DissoiError, RuntimeError):
    """A budget is spent; the run stops cleanly and can be resumed with a larger one."""


class StoreError(DissoiError, OSError):
    """The run folder cannot be opened, locked, read or written."""
