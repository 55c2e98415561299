"""What a decoder is made of: attention, states, networks; what each holds in parameters and keeps of a sequence."""
