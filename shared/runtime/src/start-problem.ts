/** Why a process cannot start, in one sentence that tells the operator what to mend: a server at its address, or a setting. */
export class StartProblem extends Error {}

/** `host:port` of a server, without the credential that its URL may hold. */
export function addressOf(url: string, standardPort: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === '' ? standardPort : port}`;
}

/** Until when a start waits for a server that is not there yet, in ms since the epoch; for ever when absent. */
export interface StartPatience {
  readonly giveUpAt?: number;
}

/** What the system said, in a few words. */
export function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const words: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'nobody listens there',
    ENOTFOUND: 'there is no such host',
    EAI_AGAIN: 'the name of the host cannot be looked up',
    ETIMEDOUT: 'no answer',
    EHOSTUNREACH: 'no way to that host',
    ENETUNREACH: 'no way to that host',
  };
  return words[code] ?? (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
}

interface ListenPlace {
  readonly host: string;
  readonly port: number;
  /** The variables that an operator changes. */
  readonly settings: { readonly host: string; readonly port: string };
}

/** Why a server cannot listen, naming the setting; errors of other kinds as they are. */
export function listenProblem(error: NodeJS.ErrnoException, { host, port, settings }: ListenPlace): Error {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `${settings.port}: port ${port} of ${host} is in use by another process`,
    EACCES: `${settings.port}: this user may not listen on port ${port}`,
    EADDRNOTAVAIL: `${settings.host}: ${host} is no address of this machine`,
    ENOTFOUND: `${settings.host}: there is no host ${host}`,
  };
  const sentence = reasons[error.code ?? ''];
  return sentence === undefined ? error : new StartProblem(sentence);
}
