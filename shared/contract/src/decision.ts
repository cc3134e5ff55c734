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

/**
 * The answer without a code that what was asked for cannot come to.
 * @throws Error when it came to it all the same: a bug.
 */
export function neverDenied<Value, Code extends string, Never extends Code>(
  answer: Decision<Value, Code>,
  never: Never,
): Decision<Value, Exclude<Code, Never>> {
  if (answer.ok) return answer;
  const isOther = (code: Code): code is Exclude<Code, Never> => code !== never;
  const { code, ...told } = answer;
  if (!isOther(code)) throw new Error(`${code} was answered to what cannot come to it`);
  return { ...told, code };
}
