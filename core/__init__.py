"""The words of the design as small typed values; imports nothing else of ours."""

from __future__ import annotations

from .errors import (
    AgentError,
    CancelledRequestError,
    CapReachedError,
    EnvironmentFault,
    InvalidCandidateError,
    MissingDependencyError,
    ModelFault,
    RunFolderError,
    SceneError,
    UnaskedError,
    UnknownNameError,
    UsageError,
    VLMFailError,
)
from .outcomes import Outcome
from .picture import Picture
from .plugins import Registry, load_object, source_digest
from .protocols import (
    VLM,
    CandidateSpace,
    Domain,
    EpisodeDomain,
    Logger,
    Policy,
    Renderer,
    Rendering,
    Scene,
    SetSpace,
    Violation,
    plays_episodes,
)
from .question import CutOff, Option, Question, Recognition, Reply, Statement, Truth, Usage
from .seeding import Stream, check_seed, derive_seed, trial_rng
from .statistics import clopper_pearson_lower, wilson_interval
from .trial import Evaluation, Tally, Trial, TrialRecord

__all__ = [
    "VLM",
    "AgentError",
    "CancelledRequestError",
    "CandidateSpace",
    "CapReachedError",
    "CutOff",
    "Domain",
    "EnvironmentFault",
    "EpisodeDomain",
    "Evaluation",
    "InvalidCandidateError",
    "Logger",
    "MissingDependencyError",
    "ModelFault",
    "Option",
    "Outcome",
    "Picture",
    "Policy",
    "Question",
    "Recognition",
    "Registry",
    "Renderer",
    "Rendering",
    "Reply",
    "RunFolderError",
    "Scene",
    "SceneError",
    "SetSpace",
    "Statement",
    "Stream",
    "Tally",
    "Trial",
    "TrialRecord",
    "Truth",
    "UnaskedError",
    "UnknownNameError",
    "Usage",
    "UsageError",
    "VLMFailError",
    "Violation",
    "check_seed",
    "clopper_pearson_lower",
    "derive_seed",
    "load_object",
    "plays_episodes",
    "source_digest",
    "trial_rng",
    "wilson_interval",
]
