/** Tokens for other nodes: variables whose names an operator chooses. */

/** `SVC_REMOTE_TOKEN_<NAME>`: the token for another node, by any name. */
export const REMOTE_TOKEN = /^SVC_REMOTE_TOKEN_[A-Z0-9_]{1,64}$/;

export function remoteTokensIn(
  environment: Readonly<Record<string, string | undefined>>,
  rawOf: (variable: string) => string | undefined,
): ReadonlyMap<string, string> {
  const names = new Set(Object.keys(environment).map((name) => name.replace(/_FILE$/, '')));
  const set = [...names].filter((name) => REMOTE_TOKEN.test(name)).map((name) => [name, rawOf(name)] as const);
  return new Map(set.flatMap(([name, token]) => (token === undefined ? [] : [[name, token] as const])));
}
