"""What sites that run agents by their own engines need: manifests for Kubernetes, job scripts for Slurm."""
