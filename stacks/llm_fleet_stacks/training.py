"""What a fleet file says of training, as values of the construct."""

from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from llm_fleet.config.training.training import TrainingConfig
from llm_fleet.config.training.view import EnvironmentView, TrainingView
from llm_fleet.lifecycle.training_runtime import CompileCache, TrainingEnvironment, TrainingRuntime


def training_from(scope: Construct, config: TrainingConfig | None) -> TrainingRuntime | None:
    """Return the runtime that `config` describes; its secret is imported below `scope`."""
    if config is None:
        return None
    cache, secret = config.compile_cache, config.hub_token_secret_arn
    return TrainingRuntime(
        environments=[_environment(each) for each in TrainingView(config=config).environments],
        folder=config.folder,
        compile_cache=None if cache is None else CompileCache(max_age_days=cache.max_age_days, max_gib=cache.max_gib),
        variables=config.variables,
        processes=config.processes,
        hub_token_secret=None
        if secret is None
        else secretsmanager.Secret.from_secret_complete_arn(scope, "HubToken", secret),
    )


def _environment(view: EnvironmentView) -> TrainingEnvironment:
    return TrainingEnvironment(
        kind=view.kind,
        use=view.use,
        label=view.label,
        groups=view.groups,
        stack=view.stack,
        release=view.release,
        python=view.python,
        packages=view.packages,
        image=view.image,
        program=view.program,
        server_kind=view.server_kind,
    )
