"""What the project costs, as ratios against its peers measured in the same run."""
