/** What is offered at one address of the protocol; how it is spoken is the same everywhere. */
import type { Answered, RequestMessage } from '../domain/mcp-results.ts';
import type { ClientReply, Era } from '../domain/mcp-wire.ts';
import type { ListName } from '../domain/mcp-subscriptions.ts';
import type { Calling } from '../tool-call.ts';

/** A request on its way to its result. */
export interface Asked extends Calling {
  readonly message: RequestMessage;
  /** Tells the client something before the result; the reply is an event stream from then on. */
  tell(message: object): void;
}

/** Throws CallError, McpError. */
export type Answering = (asked: Asked) => Promise<Answered>;
export type Methods = Readonly<Record<string, Answering>>;

export interface Room {
  readonly instructions: string;
  readonly capabilities: Readonly<Record<Era, Readonly<Record<string, unknown>>>>;
  /** Beside those that every room has. */
  readonly methods: Readonly<Record<Era, Methods>>;
  /** How to hear that a list is another one; what it returns ends that. */
  readonly lists: Readonly<Partial<Record<ListName, (listener: () => void) => () => void>>>;
  /** Whether updates can be asked for under that address; says nothing of whether anything is there. */
  isResource(uri: string): boolean;
  /** A message of a client of the earlier era that answers a request of ours; absent = none is ever made. */
  takeReply?(calling: Calling, reply: ClientReply): void;
}
