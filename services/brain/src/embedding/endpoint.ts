/** Asks an endpoint in the form of OpenAI: bounded in time, in what it may answer, and in how much is asked at once. */

/** What an operator set, and the secret that goes with it. */
export interface Endpoint {
  readonly url: string;
  readonly model: string;
  readonly key: string | undefined;
}

/**
 * `input`: it does not take what it was given, and may well take something else. `unfit`: it answers in another form
 * than it should. `busy`: enough is being asked already.
 */
type FaultKind = 'away' | 'slow' | 'failing' | 'denied' | 'input' | 'unfit' | 'busy';

const MEANINGS: Readonly<Record<FaultKind, string>> = {
  away: 'cannot be reached',
  slow: 'did not answer in time',
  failing: 'answers that it cannot',
  denied: 'does not let this node in',
  input: 'does not take what it was given',
  unfit: 'answers in another form than it should',
  busy: 'is being asked too much at once',
};

/** Its message tells neither the address nor anything that the endpoint said. */
export class EndpointFault extends Error {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, cause?: unknown) {
    super(MEANINGS[kind], { cause });
    this.kind = kind;
  }
}

export interface Ask {
  /** Below the address, such as `/embeddings`. */
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** The parsed answer. Throws EndpointFault, and nothing else. */
export async function askEndpoint({ url, model, key }: Endpoint, ask: Ask): Promise<unknown> {
  const late = AbortSignal.timeout(Math.max(1, Math.floor(ask.timeoutMs)));
  const signal = ask.signal === undefined ? late : AbortSignal.any([late, ask.signal]);
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}${ask.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({ model, ...ask.body }),
      // The key is for that address alone.
      redirect: 'manual',
      signal,
    });
    const text = await readBounded(response, ask.maxBytes);
    if (!response.ok) throw new EndpointFault(kindOfStatus(response.status));
    return parsed(text);
  } catch (error) {
    if (error instanceof EndpointFault) throw error;
    throw new EndpointFault(late.aborted ? 'slow' : 'away', error);
  }
}

function kindOfStatus(status: number): FaultKind {
  if (status === 401 || status === 403) return 'denied';
  if (status === 400 || status === 413 || status === 422) return 'input';
  return status >= 500 || status === 429 ? 'failing' : 'unfit';
}

async function readBounded(response: Response, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new EndpointFault('unfit');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new EndpointFault('unfit', error);
  }
}
