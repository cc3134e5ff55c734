/** Results of the Model Context Protocol as text: what a service answered is carried in them without being parsed. */
import type { CallError } from '@svc/contract/codes.ts';
import { frameMessageResult, type McpMessage, type MessageId, SERVER_KEY } from './mcp-wire.ts';

/** What a request is answered with. */
export interface Answered {
  /** The text of the members of a result object; may be empty in the earlier era. */
  readonly members: string;
  /** Absent = the result is complete. */
  readonly type?: 'task' | 'input_required';
  /** The text of further members of `_meta`. */
  readonly meta?: string;
}

/** The text of a whole reply. */
export type FrameResult = (message: RequestMessage, answered: Answered) => string;

export type RequestMessage = McpMessage & { readonly id: MessageId };

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

/** Every result of the newer era tells which server it is of, and what it is. */
export function createFrameResult(server: ServerInfo): FrameResult {
  const identity = `${JSON.stringify(SERVER_KEY)}:${JSON.stringify(server)}`;
  return ({ era, id }, { members, type = 'complete', meta }) => {
    const both = meta === undefined ? identity : `${meta},${identity}`;
    if (era === 'legacy') return frameMessageResult(id, joined(members, meta === undefined ? '' : `"_meta":{${meta}}`));
    return frameMessageResult(id, joined(`"resultType":"${type}"`, members, `"_meta":{${both}}`));
  };
}

/** The members of an object without those that are not there. */
export function joined(...members: readonly string[]): string {
  return members.filter((text) => text !== '').join(',');
}

/** What a tool answered; `text` is JSON. */
export function toolResult(text: string, refusal: string | null): Answered {
  if (refusal === null) return { members: `${textBlock(text)},"structuredContent":${text},"isError":false` };
  return { members: `${textBlock(text)},"isError":true`, meta: `"svc/code":${JSON.stringify(refusal)}` };
}

/** A call error that concerns the call rather than the request: the agent reads it like an answer of the tool. */
export function toolError({ code, message: error, details }: CallError, requestId: string): Answered {
  return toolResult(JSON.stringify({ error, code, requestId, ...details }), code);
}

/** The whole result as it stands in something else. */
export function resultObject({ members, meta }: Answered): string {
  return `{${joined(members, meta === undefined ? '' : `"_meta":{${meta}}`)}}`;
}

function textBlock(text: string): string {
  return `"content":[{"type":"text","text":${JSON.stringify(text)}}]`;
}

const CONTENT = '{"content":';

/** The object that a tool answered, out of the `result` member of a call's reply. */
export function answeredObject(body: string, card: { readonly bare: boolean }, refusal: string | null): string {
  if (refusal === null) return card.bare ? body : body.slice(CONTENT.length, -1);
  const { content } = JSON.parse(body) as { content: unknown };
  return JSON.stringify(content);
}
