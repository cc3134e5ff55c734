/** The room of the service: its tools as tools, files of brains as resources, under the rules of every other door. */
import type { IncomingMessage } from 'node:http';
import { CallError } from '@svc/contract/codes.ts';
import { DEFAULT_DEADLINE_MS } from '@svc/contract/tool.ts';
import { resourcePlace } from '../domain/brain-resources.ts';
import { argumentsOf, isObject } from '../domain/call-form.ts';
import { type Answered, answeredObject, toolError, toolResult } from '../domain/mcp-results.ts';
import { INVALID_PARAMS, isProtocolError, McpError, speaksOfTasks } from '../domain/mcp-wire.ts';
import { headerText } from '../header-text.ts';
import { stampOf } from '../identity.ts';
import type { Ports } from '../ports.ts';
import type { ServiceDirectory } from '../service-directory.ts';
import {
  type CalledTool,
  type Calling,
  callWith,
  type PrepareCall,
  type PreparedCall,
  type Tally,
} from '../tool-call.ts';
import { cacheable, LIST_TTL_MS } from './caching.ts';
import { listResources, readResource, RESOURCE_TEMPLATES } from './resources.ts';
import type { Answering, Asked, Methods, Room } from './room.ts';
import type { ResumeTask, Tasks, TaskWork } from './tasks.ts';

interface ServiceRoomParts {
  readonly directory: Pick<ServiceDirectory, 'pages' | 'onToolsChanged' | 'route'>;
  readonly ports: Pick<Ports, 'profilesFor'>;
  readonly prepare: PrepareCall;
  readonly tasks: Pick<Tasks, 'newId' | 'start'>;
}

const DEFAULT_PROFILE = 'core';
const INSTRUCTIONS =
  'Versioned file memory. svc_search and svc_get_memory read, svc_set_memory writes, svc_commit keeps a version. ' +
  'There are also branches, boundaries, budgets, votes, messages, a market, queues of work, jobs on a schedule, code in a ' +
  'sandbox, worlds, crews of agents and tokens. Of more than 300 tools few are listed: tool_search finds the others by ' +
  'what you want to do, tool_describe tells their arguments, svc_call calls them.';
const CAPABILITIES = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } };

interface ServiceRoom extends Room {
  resume(calling: Calling): ResumeTask;
}

export function createServiceRoom(parts: ServiceRoomParts): ServiceRoom {
  const { directory, prepare } = parts;
  const call = callWith(prepare);
  const methods: Methods = {
    'tools/list': listTools(parts),
    'tools/call': callTool(parts),
    'resources/list': async (asked) => cacheable(asked, await listResources(call, asked), 0, 'private'),
    'resources/templates/list': async (asked) => cacheable(asked, RESOURCE_TEMPLATES, LIST_TTL_MS, 'public'),
    'resources/read': async (asked) => cacheable(asked, await readResource(call, asked), 0, 'private'),
  };
  return {
    instructions: INSTRUCTIONS,
    capabilities: { modern: CAPABILITIES, legacy: CAPABILITIES },
    methods: { modern: methods, legacy: methods },
    // What changes the list of resources is told by events, to each as far as it may hear of it.
    lists: { tools: directory.onToolsChanged, resources: () => () => {} },
    isResource: (uri) => resourcePlace(uri) !== null,
    resume: (calling) => async (stored) => {
      const { name, args, key, sessionName } = stored;
      calling.exchange.sessionName = sessionName ?? undefined;
      // Judged anew: who asks now may do less than who began it, or have lost what allowed the call.
      const prepared = await prepare({ name, args: { ...args }, metaKey: undefined, ownKey: key }, calling);
      return workOf(prepared, calling);
    },
  };
}

function listTools({ directory, ports }: ServiceRoomParts): Answering {
  return async (asked) => {
    const { message, visit, exchange } = asked;
    const bound = visit.identity.token?.limits.profile ?? null;
    const profile = bound ?? profileIn(exchange.request) ?? DEFAULT_PROFILE;
    const set = await ports.profilesFor(profile, () => stampOf(visit));
    const page = directory.pages(profile, message.params['cursor'], set);
    return cacheable(asked, page, LIST_TTL_MS, bound === null ? 'public' : 'private');
  };
}

/** A wish: what a token is held to comes before it. */
function profileIn({ url = '', headers }: IncomingMessage): string | undefined {
  const query = url.indexOf('?');
  const asked = query < 0 ? null : new URLSearchParams(url.slice(query)).get('profile');
  return asked ?? headerText(headers, 'x-svc-profile');
}

function callTool(parts: ServiceRoomParts): Answering {
  return async (asked) => {
    const { params } = asked.message;
    const { name, _meta } = params;
    if (typeof name !== 'string' || name === '') throw invalidParams('params.name must be the name of a tool.');
    const args = argumentsOf(params, invalidParams);
    const metaKey = isObject(_meta) ? _meta['idempotencyKey'] : undefined;
    const called = { name, args, metaKey };
    const isTask = speaksOfTasks(asked.message) && mayTakeLong(parts, called);
    return isTask ? callAsTask(parts, called, asked) : resultOf(parts.prepare(called, asked), asked);
  };
}

function invalidParams(message: string): McpError {
  return new McpError(INVALID_PARAMS, message);
}

function mayTakeLong({ directory }: ServiceRoomParts, { name, args }: CalledTool): boolean {
  const called = name === 'svc_call' ? args['name'] : name;
  const route = typeof called === 'string' ? directory.route(called) : undefined;
  return route !== undefined && route.card.deadlineMs > DEFAULT_DEADLINE_MS;
}

async function resultOf(
  preparing: PreparedCall | Promise<PreparedCall>,
  { tally, exchange }: Calling,
): Promise<Answered> {
  try {
    const { body, refusal, card, replayed } = await (await preparing).send();
    exchange.replayed = replayed;
    return toolResult(answeredObject(body, card, refusal), refusal);
  } catch (error) {
    if (!(error instanceof CallError) || isProtocolError(error.code)) throw error;
    tally.code = error.code;
    tally.failed = true;
    return toolError(error, exchange.requestId);
  }
}

/** A tool that may take long is a task for whoever can ask for its result later. What the door refuses is refused at once. */
async function callAsTask({ prepare, tasks }: ServiceRoomParts, called: CalledTool, asked: Asked): Promise<Answered> {
  const { exchange, visit } = asked;
  const { name, args } = called;
  const id = tasks.newId();
  // Under a key the call can be made again when this gateway is lost, and takes effect once.
  const key = headerText(exchange.request.headers, 'idempotency-key') ?? called.metaKey ?? `task-${id}`;
  if (typeof key !== 'string') return resultOf(prepare(called, asked), asked);
  const preparing = prepare({ name, args, metaKey: key }, asked);
  const prepared = await preparing.catch(() => null);
  if (prepared === null) return resultOf(preparing, asked);
  const task = {
    id,
    principal: visit.identity.sessionOwner,
    owner: visit.identity.bucket,
    requestId: exchange.requestId,
    call: { name, args, key, sessionName: exchange.sessionName ?? null },
    work: workOf(preparing, asked),
  };
  return (await tasks.start(task)) ?? resultOf(preparing, asked);
}

/** Counted when it is done, as what it then is. */
function workOf(preparing: PreparedCall | Promise<PreparedCall>, { exchange, visit, door }: Calling): TaskWork {
  return async () => {
    const startedAt = performance.now();
    const tally: Tally = { route: null, code: 'ok', failed: false, visit };
    const result = await resultOf(preparing, { exchange, visit, door, tally });
    const { route } = await preparing;
    route.meter.counted(tally.code, door);
    route.meter.took((performance.now() - startedAt) / 1000);
    return result;
  };
}
