/** How often a property is tried: a fifth of the full count for every change, all of it in `npm run soak`. */
const SHARE = process.env['SVC_TEST_COUNTS'] === 'full' ? 1 : 0.2;

export function runs(full: number): number {
  return Math.ceil(full * SHARE);
}
