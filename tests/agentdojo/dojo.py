"""The parts of AgentDojo that a measurement uses, imported without the SDKs of model providers.

`agentdojo.agent_pipeline` imports the SDKs of all providers: 54 more packages, 190 MB. Nothing here
asks a model, so its `__init__` does not run, and the one module of a provider that its other
modules import is replaced by the constant that they need.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType

PIPELINE = "agentdojo.agent_pipeline"


def leave_out_providers() -> None:
    """Registers the package without running it, so that its modules can be imported."""
    spec = find_spec(PIPELINE)
    assert spec is not None, "agentdojo is not installed"
    google = ModuleType(f"{PIPELINE}.llms.google_llm")
    vars(google)["EMPTY_FUNCTION_NAME"] = "<empty-function-name>"
    sys.modules |= {PIPELINE: module_from_spec(spec), google.__name__: google}


leave_out_providers()

from agentdojo.agent_pipeline.ground_truth_pipeline import GroundTruthPipeline  # noqa: E402
from agentdojo.attacks.attack_registry import load_attack  # noqa: E402
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime  # noqa: E402
from agentdojo.task_suite.load_suites import get_suite  # noqa: E402

__all__ = ["FunctionCall", "FunctionsRuntime", "GroundTruthPipeline", "get_suite", "load_attack"]
