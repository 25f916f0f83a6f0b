"""What the model does when its attention, its heads or its inner vectors are changed; and runs held side by side."""
