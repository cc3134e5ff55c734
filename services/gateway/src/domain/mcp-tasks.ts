/** A task of the Model Context Protocol: what becomes of it, as rules on what is kept of it. */

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A call that can be made again under its key, by whichever gateway is there. */
export interface TaskCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly key: string;
  /** The session in which it was begun. */
  readonly sessionName: string | null;
}

export type TaskInputs = Readonly<Record<string, unknown>>;

export interface TaskRecord {
  /** Who began it: what its agent did without it, a token that is bound to a workspace is not told. */
  readonly principal: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  readonly createdAt: number;
  readonly lastUpdatedAt: number;
  /** How it goes on when the gateway that works on it is lost; null = it cannot, or is over. */
  readonly call: TaskCall | null;
  /** The text of the result, once it is completed. */
  readonly result?: string;
  /** The text of the error, once it has failed. */
  readonly error?: string;
  /** What is asked of the client and was not answered yet. */
  readonly inputRequests?: TaskInputs;
}

export type TaskEnd =
  | { readonly status: 'completed'; readonly result: string }
  | { readonly status: 'failed'; readonly error: string; readonly statusMessage: string }
  | { readonly status: 'cancelled'; readonly statusMessage: string };

export const TASK_KEPT_MS = 3_600_000;

export function isOver({ status }: TaskRecord): boolean {
  return status !== 'working' && status !== 'input_required';
}

/** Null when it is over already: the first end stays. */
export function ended(record: TaskRecord, end: TaskEnd, now: number): TaskRecord | null {
  if (isOver(record)) return null;
  const { principal, createdAt } = record;
  return { principal, createdAt, call: null, ...end, lastUpdatedAt: now };
}

export function waitingFor(record: TaskRecord, inputRequests: TaskInputs, now: number): TaskRecord | null {
  if (isOver(record)) return null;
  return { ...record, status: 'input_required', inputRequests, lastUpdatedAt: now };
}

/** Without the requests that were answered; whatever was not asked for is passed over. */
export function answeredWith(record: TaskRecord, responses: TaskInputs, now: number): TaskRecord | null {
  if (record.status !== 'input_required') return null;
  const { inputRequests = {}, ...rest } = record;
  const left = Object.entries(inputRequests).filter(([key]) => !Object.hasOwn(responses, key));
  if (left.length === 0) return { ...rest, status: 'working', lastUpdatedAt: now };
  return { ...record, inputRequests: Object.fromEntries(left), lastUpdatedAt: now };
}
