"""What serves today held against what was planned: the metrics of engines, read once or twice."""
