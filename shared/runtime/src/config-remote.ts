/** Tokens for other nodes: variables whose names an operator chooses. */
import { bearer } from './config-values.ts';
import { misfit } from './config-variable.ts';

/** `SVC_REMOTE_TOKEN_<NAME>`: the token for another node, by any name. */
export const REMOTE_TOKEN = /^SVC_REMOTE_TOKEN_[A-Z0-9_]{1,64}$/;

export function remoteTokensIn(
  environment: Readonly<Record<string, string | undefined>>,
  rawOf: (variable: string) => string | undefined,
  problems: string[],
): ReadonlyMap<string, string> {
  const names = new Set(Object.keys(environment).map((name) => name.replace(/_FILE$/, '')));
  const tokens = new Map<string, string>();
  for (const name of [...names].filter((one) => REMOTE_TOKEN.test(one))) {
    const raw = rawOf(name);
    if (raw === undefined) continue;
    const token = bearer.safeParse(raw);
    if (token.success) tokens.set(name, token.data);
    else problems.push(misfit(name, token.error));
  }
  return tokens;
}
