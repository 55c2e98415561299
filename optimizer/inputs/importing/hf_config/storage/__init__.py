"""What a checkpoint's weights are stored in, by its quantization entry."""
