"""What every figure uses: palette, number formats, the heatmap."""
