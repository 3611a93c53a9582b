/** The middle of some figures. NaN of none. */
export function median(figures: readonly number[]): number {
  return quantile(figures, 0.5);
}

/** The figure that `share` (0 to 1) of all do not exceed, between the two nearest. NaN of none. */
export function quantile(figures: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(figures).sort();
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? NaN;
  const above = sorted[Math.ceil(place)] ?? NaN;
  return below + (above - below) * (place % 1);
}
