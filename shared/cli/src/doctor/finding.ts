/** One thing that was looked at. */
export interface Finding {
  readonly name: string;
  /** `look`: works, and deserves a look. */
  readonly state: 'ok' | 'look' | 'fail';
  readonly found: string;
  /** What to do; null = nothing. */
  readonly mend: string | null;
}

export const ok = (name: string, found: string): Finding => ({ name, state: 'ok', found, mend: null });
export const look = (name: string, found: string, mend: string): Finding => ({ name, state: 'look', found, mend });
export const fail = (name: string, found: string, mend: string): Finding => ({ name, state: 'fail', found, mend });
