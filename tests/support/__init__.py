"""What tests share: instances, oracles, forged plans, scenarios, golden files."""
