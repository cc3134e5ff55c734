/** The usual value of the literature, with which all other weights were measured. */
export const K1 = 1.2;
/** Measured 2026-11-23 on Cranfield, CACM and LoCoMo: best of .5, .6, .7, .75 for the hybrid order. */
export const B = 0.6;

/** ln(1 + (N - df + 0.5) / (df + 0.5)), above 0 for every df <= N. */
export function inverseFrequency(documents: number, frequency: number): number {
  return Math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5));
}

/** Scores are compared and shown rounded to 1e-9, so that the order never hangs on the last bits. */
export function roundScore(score: number): number {
  return Math.round(score * 1e9) / 1e9;
}
