"""Makes what lasts be held by the stacks that use it."""

import aws_cdk as cdk
from constructs import Construct


def hold(*resources: Construct) -> None:
    """Have other stacks take the values of `resources` by strong references, whatever the app's feature flag says.

    The flag `@aws-cdk/core:defaultCrossStackReferences` is `weak` in an app that `cdk init` makes. A file system, key
    or subnet that is replaced would then never reach the clusters of another stack: a weak reference is read again
    only when the template that holds it changes. With an export in use, CloudFormation refuses to replace or delete it;
    what is retained may leave a second, new copy then
    (assumption: cloudformation-keeps-the-new-copy-of-a-refused-replacement).
    Who wants weak ones nevertheless says so afterwards: `CrossStackReferences.of(resource).produce(...)`.

    A weak reference might also have an update replace what it stands in, e.g. a file system for its subnet;
    assumption: cloudformation-plans-weak-references-as-replacements

    Each of `resources` is a resource or a construct with a default child.
    Source: document https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-getstackoutput.html
    """
    for resource in resources:
        cdk.CrossStackReferences.of(resource).produce(cdk.ReferenceStrength.STRONG)
