/** What a client of the Model Context Protocol puts on the wire, and what it reads, without any library between. */
/** The revision that is spoken. */
export const MODERN = '2026-07-28';

export const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
export const META = { 'io.modelcontextprotocol/protocolVersion': MODERN, [CAPABILITIES]: {} };
export const WITH_TASKS = { ...META, [CAPABILITIES]: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };

interface Notice {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
}

export interface OpenedStream {
  readonly status: number;
  /** All messages so far, in order. */
  readonly messages: Notice[];
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  leave(): void;
}

type Headers = Readonly<Record<string, string>>;

/** One request of the newer era. */
export function modernRequest(method: string, params: Readonly<Record<string, unknown>>, token: string): RequestInit {
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      'mcp-name': String(params['name'] ?? params['taskId']),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  };
}

/** `subscriptions/listen` of the newer era. */
export function listen(
  url: string,
  headers: Headers,
  notifications: object,
  _meta: object = META,
): Promise<OpenedStream> {
  const body = { jsonrpc: '2.0', id: 'sub', method: 'subscriptions/listen', params: { _meta, notifications } };
  return openStream(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify(body),
  });
}

/** The stream of a session of the earlier era. */
export function follow(url: string, headers: Headers, session: string): Promise<OpenedStream> {
  return openStream(url, { headers: { ...headers, 'mcp-session-id': session, accept: 'text/event-stream' } });
}

async function openStream(url: string, options: RequestInit): Promise<OpenedStream> {
  const away = new AbortController();
  const response = await fetch(new URL('/mcp', url), { ...options, signal: away.signal });
  const messages: Notice[] = [];
  const reading = async (): Promise<void> => {
    let rest = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: ')) messages.push(JSON.parse(line.slice(6)) as Notice);
    }
  };
  const ended = reading().catch(() => {});
  return { status: response.status, messages, ended, leave: () => away.abort() };
}
