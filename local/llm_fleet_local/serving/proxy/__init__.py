"""A stand-in of an Application Load Balancer, rendered from a template's listeners, rules and target groups."""
