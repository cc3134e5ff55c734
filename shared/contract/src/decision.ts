/** What a pure rule answers: a value, or the expected "no" with its code. Never thrown. */
export type Decision<Value, Code extends string> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly code: Code; readonly message?: string; readonly details?: Record<string, unknown> };

/** The "no" half of a decision. */
export type Denial<Code extends string> = Extract<Decision<never, Code>, { ok: false }>;

export function allow<Value>(value: Value): { readonly ok: true; readonly value: Value } {
  return { ok: true, value };
}

/** `details` are shown to the caller beside the code; `message` replaces the code's standard sentence. */
export function deny<Code extends string>(
  code: Code,
  details?: Record<string, unknown>,
  message?: string,
): Denial<Code> {
  return {
    ok: false,
    code,
    ...(message === undefined ? {} : { message }),
    ...(details === undefined ? {} : { details }),
  };
}
