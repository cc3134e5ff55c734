/** A caller of the service: one POST /call per tool call. */

/** The request body of one call. */
export function callBody(tool: string, args: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } });
}

/** Resolves with the reply as it is written, whatever it says. */
export async function postCall(
  url: string,
  headers: Readonly<Record<string, string>>,
  tool: string,
  args: Readonly<Record<string, unknown>>,
): Promise<string> {
  const reply = await fetch(`${url}/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: callBody(tool, args),
  });
  return reply.text();
}

/** Resolves with the result, whose `content` is the tool's answer. Throws on an error and on a refusal. */
export async function callTool(
  url: string,
  headers: Readonly<Record<string, string>>,
  tool: string,
  args: Readonly<Record<string, unknown>>,
): Promise<{ readonly content: unknown }> {
  const text = await postCall(url, headers, tool, args);
  const { result } = JSON.parse(text) as { result?: { content: unknown } };
  if (result === undefined || isRefusal(result) || isRefusal(result.content)) {
    throw new Error(`${tool}: ${text.slice(0, 500)}`);
  }
  return result;
}

function isRefusal(shown: unknown): boolean {
  return typeof shown === 'object' && shown !== null && 'error' in shown && 'code' in shown;
}
