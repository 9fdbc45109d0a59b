"""The needs of sites that run agents by their own engines: manifests for Kubernetes, job scripts for Slurm."""
