/** What the official conformance runner asks a server to have: how its tools are written. */
import { isObject } from '../../domain/call-form.ts';
import { type Era, INVALID_PARAMS, McpError } from '../../domain/mcp-wire.ts';
import type { TaskControl } from '../tasks.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Asked of the client instead of a result; it calls again with what was answered. */
export interface InputRequired {
  readonly inputRequests: Readonly<Record<string, Fields>>;
  readonly requestState?: string;
}

export interface ToolAnswer {
  readonly content: readonly Fields[];
  readonly isError?: boolean;
}

export interface FixtureCall {
  readonly era: Era;
  /** Of the client, as this request says. */
  readonly capabilities: Fields;
  readonly progressToken: unknown;
  /** Whether this request wants to hear of what is logged. */
  readonly wantsLog: boolean;
  readonly inputs: Fields;
  /** What was sealed in an earlier round; null = this is the first. Throws McpError for what was not. */
  state(): string | null;
  seal(text: string): string;
  notify(method: string, params: Fields): void;
  /** Asks a client of the earlier era. */
  request(method: string, params: Fields): Promise<Fields>;
  changed(list: 'tools' | 'prompts'): void;
}

export interface Fixture {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: Fields;
  run(args: Fields, call: FixtureCall): Promise<ToolAnswer | InputRequired> | ToolAnswer | InputRequired;
}

/** A tool that is a task for clients that know of tasks; the others wait, or are refused where a task is needed. */
export interface TaskFixture extends Omit<Fixture, 'run'> {
  readonly isTaskRequired: boolean;
  /** Rounds before the task begins; null = it may begin. */
  before?(call: FixtureCall): InputRequired | null;
  work(args: Fields, call: FixtureCall, control: TaskControl | null): Promise<ToolAnswer>;
}

export const NO_ARGUMENTS: Fields = { type: 'object', properties: {}, additionalProperties: false };

export function text(value: string): Fields {
  return { type: 'text', text: value };
}

export function said(value: string): ToolAnswer {
  return { content: [text(value)] };
}

export function elicitation(message: string, properties: Fields): Fields {
  const requestedSchema = { type: 'object', properties, required: Object.keys(properties) };
  return { method: 'elicitation/create', params: { message, requestedSchema } };
}

export function sampling(prompt: string, maxTokens: number): Fields {
  const messages = [{ role: 'user', content: text(prompt) }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens } };
}

export const ROOTS: Fields = { method: 'roots/list', params: {} };

/** The value of a field in what the client accepted; null = it did not answer so. */
export function accepted(response: unknown, field: string): unknown {
  if (!isObject(response) || response['action'] !== 'accept' || !isObject(response['content'])) return null;
  return response['content'][field] ?? null;
}

/** The same of a text. */
export function acceptedText(response: unknown, field: string): string | null {
  const value = accepted(response, field);
  return typeof value === 'string' ? value : null;
}

/** The text of a message that the client had made; null = it did not answer so. */
export function sampled(response: unknown): string | null {
  const content = isObject(response) ? response['content'] : null;
  return isObject(content) && typeof content['text'] === 'string' ? content['text'] : null;
}

export function inputsIn(params: Fields): Fields {
  const { inputResponses } = params;
  if (inputResponses === undefined) return {};
  if (isObject(inputResponses)) return inputResponses;
  throw new McpError(INVALID_PARAMS, 'params.inputResponses must be an object.');
}
