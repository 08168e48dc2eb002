"""Fine-tuning of debaters, judges and preference models, and the loop between them."""
