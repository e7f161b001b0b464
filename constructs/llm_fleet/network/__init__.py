"""The network: a VPC for clusters, and the security group that EFA needs."""
