/** The door of agents under load: how a call through it is written, and what is compared with it. */
import { startNode, type NodeProcess } from './process.ts';

const REVISION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface AgentRequest {
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function agentRequest(method: string, params: Readonly<Record<string, unknown>>, path = '/mcp'): AgentRequest {
  const { name } = params;
  return {
    path,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
  };
}

export function agentCall(name: string): AgentRequest {
  return agentRequest('tools/call', { name, arguments: {} });
}

/** How many tools the list of a profile has, and what it costs to read, four bytes taken for a token. */
export async function listSize(
  url: string,
  headers: Readonly<Record<string, string>>,
  profile: string,
): Promise<{ readonly tools: number; readonly tokens: number }> {
  const request = agentRequest('tools/list', {}, `/mcp?profile=${profile}`);
  const reply = await fetch(url + request.path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers, ...request.headers },
    body: request.body,
  });
  const { result } = (await reply.json()) as { result: { tools: object[]; nextCursor?: string } };
  if (result.nextCursor !== undefined) throw new Error('the list has more pages than one');
  return { tools: result.tools.length, tokens: Math.ceil(Buffer.byteLength(JSON.stringify(result.tools)) / 4) };
}

/** The official server with so many tools. */
export function startSdkServer(tools: number): NodeProcess {
  return startNode('bench/doors/mcp-sdk.ts', [String(tools)]);
}
