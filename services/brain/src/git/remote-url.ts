/** Where a remote may be: https, ssh, or (only when allowed) a file URL; never with a credential inside. */

export type Transport = 'https' | 'ssh' | 'file';

export interface RemoteAddress {
  readonly transport: Transport;
  /** In the form git gets it. */
  readonly url: string;
  /** `https://host[:port]`, the only place a token may go; null for other transports. */
  readonly origin: string | null;
  /** As refusals name it; null for a file. */
  readonly host: string | null;
}

export type AddressProblem = 'credentials' | 'form' | 'transport';

const MAX_LENGTH = 2_000;
const SSH_USER = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const SCP_FORM = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9_.~/][^\s:]*$/;

export function parseRemoteUrl(text: string, { allowFile = false } = {}): RemoteAddress | AddressProblem {
  if (text.length > MAX_LENGTH || /[\s\p{Cc}\\]/u.test(text)) return 'form';
  if (!text.includes('://')) return judgeScpForm(text);
  const url = URL.parse(text);
  return url === null ? 'form' : judgeUrl(url, allowFile);
}

/** `[user@]host:path` */
function judgeScpForm(text: string): RemoteAddress | AddressProblem {
  if (!SCP_FORM.test(text)) return 'form';
  const [place = ''] = text.split(':');
  return { transport: 'ssh', url: text, origin: null, host: place.slice(place.indexOf('@') + 1) };
}

function judgeUrl(url: URL, allowFile: boolean): RemoteAddress | AddressProblem {
  if (hasCredential(url)) return 'credentials';
  const transport = transportOf(url);
  if (transport === null || (transport === 'file' && !allowFile)) return 'transport';
  if (!isPlainLocation(url, transport)) return 'form';
  return { transport, url: url.href, origin: transport === 'https' ? url.origin : null, host: url.host || null };
}

function transportOf({ protocol }: URL): Transport | null {
  return (['https', 'ssh', 'file'] as const).find((transport) => protocol === `${transport}:`) ?? null;
}

/** A host and a path, nothing else, and nothing that ssh could take for an option. */
function isPlainLocation({ search, hash, pathname, host, hostname, username }: URL, transport: Transport): boolean {
  if (search !== '' || hash !== '' || pathname.length < 2 || pathname.startsWith('/-')) return false;
  if (transport === 'file') return host === '';
  return /^[A-Za-z0-9[]/.test(hostname) && (username === '' || SSH_USER.test(username));
}

/** The user name of ssh says which account, not who one is. */
function hasCredential({ protocol, username, password }: URL): boolean {
  return password !== '' || (username !== '' && protocol !== 'ssh:');
}
