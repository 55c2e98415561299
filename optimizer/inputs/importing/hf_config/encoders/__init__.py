"""What stands beside the part that reads and writes text: encoders of images and sound."""
