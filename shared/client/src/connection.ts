/** Where the node is, and as whom one speaks to it. */

export interface ConnectionOptions {
  /** Of the node or the balancer before it, such as `http://127.0.0.1:3457`. */
  readonly url: string;
  /** The operator's key. */
  readonly key?: string | undefined;
  /** The token of an agent, in place of the key. */
  readonly token?: string | undefined;
  /** Id of the agent an operator works as. */
  readonly agent?: string | undefined;
  /** "The current brain" and the like belong to the credential together with this name. */
  readonly session?: string | undefined;
}

export interface Connection {
  /** Ends with a slash. */
  readonly base: string;
  /** The address as it may be shown: without a name and password. */
  readonly shown: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Throws TypeError for what cannot be an address or stand in a header. */
export function connectionOf({ url, key, token, agent, session }: ConnectionOptions): Connection {
  if (key !== undefined && token !== undefined)
    throw new TypeError('A client speaks as the operator with `key` or as an agent with `token`, not as both.');
  // The service would take it for none, and the caller for the operator.
  if (agent === '') throw new TypeError('`agent` is empty: leave it out to speak as the operator.');
  if (!URL.canParse(url)) throw noHttpAddress(url);
  const { protocol, origin, pathname, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') throw noHttpAddress(url);
  if (username !== '' || password !== '')
    throw new TypeError('The credential belongs into `key` or `token`, not into the address.');
  const base = `${origin}${pathname}`.endsWith('/') ? `${origin}${pathname}` : `${origin}${pathname}/`;
  const headers = {
    ...header('authorization', { key, token }, 'Bearer '),
    ...header('x-svc-agent', { agent }),
    ...header('x-svc-session', { session }),
  };
  return { base, shown: base.slice(0, -1), headers };
}

/**
 * The header with the value that is given under its name. Throws TypeError for what it cannot carry, without showing it: it
 * may be a secret, which what `Headers` throws has in it.
 */
export function header(
  name: string,
  values: Readonly<Record<string, string | undefined>>,
  scheme = '',
): Record<string, string> {
  const [what, value] = Object.entries(values).find(([, given]) => given !== undefined) ?? [];
  if (value === undefined) return {};
  // A credential that was read from a file may end with a line break.
  const carried = `${scheme}${value}`.trim();
  if (UNCARRIED.test(carried))
    throw new TypeError(`\`${what}\` has a character that no header can carry, such as a line break.`);
  return { [name]: carried };
}

const UNCARRIED = /[^\t\u0020-\u007e\u0080-\u00ff]/;

function noHttpAddress(url: string): TypeError {
  return new TypeError(`"${url}" is no http address such as http://127.0.0.1:3457.`);
}

export function given(name: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [name]: value };
}
