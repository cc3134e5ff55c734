/** Results of the Model Context Protocol as text: what a service answered is carried in them without being parsed. */
import type { CallError } from '@svc/contract/codes.ts';
import { frameMessageResult, type McpMessage, type MessageId, SERVER_KEY } from './mcp-wire.ts';

/** Of one server: builds what every result has. */
export interface ResultFrames {
  /** `members`: the text of the members of a result object, at least one. */
  result(message: RequestMessage, members: string): string;
  /** What a tool answered; `text` is JSON. */
  toolResult(message: RequestMessage, text: string, refusal: string | null): string;
  /** A call error that concerns the call rather than the request: the agent reads it like an answer of the tool. */
  toolError(message: RequestMessage, error: CallError, requestId: string): string;
}

export type RequestMessage = McpMessage & { readonly id: MessageId };

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

export function createResultFrames(server: ServerInfo): ResultFrames {
  const identity = `${JSON.stringify(SERVER_KEY)}:${JSON.stringify(server)}`;

  function framed({ era, id }: RequestMessage, members: string, meta = ''): string {
    if (era === 'modern') {
      return frameMessageResult(id, `"resultType":"complete",${members},"_meta":{${meta}${identity}}`);
    }
    return frameMessageResult(id, meta === '' ? members : `${members},"_meta":{${meta.slice(0, -1)}}`);
  }

  function refused(message: RequestMessage, text: string, code: string): string {
    return framed(message, `${textBlock(text)},"isError":true`, `"svc/code":${JSON.stringify(code)},`);
  }

  return {
    result: framed,
    toolResult(message, text, refusal) {
      if (refusal !== null) return refused(message, text, refusal);
      return framed(message, `${textBlock(text)},"structuredContent":${text},"isError":false`);
    },
    toolError(message, { code, message: error, details }, requestId) {
      return refused(message, JSON.stringify({ error, code, requestId, ...details }), code);
    },
  };
}

function textBlock(text: string): string {
  return `"content":[{"type":"text","text":${JSON.stringify(text)}}]`;
}

const CONTENT = '{"content":';

/** The object that a tool answered, out of the `result` member of a call's reply. */
export function answeredObject(body: string, card: { readonly bare: boolean }, refusal: string | null): string {
  if (!card.bare) return body.slice(CONTENT.length, -1);
  if (refusal === null) return body;
  const { content } = JSON.parse(body) as { content: unknown };
  return JSON.stringify(content);
}
