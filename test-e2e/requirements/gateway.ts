/** What the gateway promises. `acceptance n` = the n-th acceptance example of the gateway contract. */
export const GATEWAY = {
  'gateway:route:health': [
    'gateway routes',
    'GET /health answers 200 with status ok, uptime and version, without a credential.',
  ],
  'gateway:route:ready': ['gateway routes', 'GET /ready answers 200 with its checks, without a credential.'],
  'gateway:route:metrics': ['gateway routes', 'GET /metrics is Prometheus text, for the operator only.'],
  'gateway:metrics:documented': ['ours', 'Every metric is in the guide of operators, and every one there is measured.'],
  'gateway:route:unknown': [
    'gateway routes',
    'An unknown path is 404 NOT_FOUND, a wrong verb 405 with Allow, HEAD is GET without body.',
  ],
  'gateway:route:cors': ['gateway routes', 'No CORS header is sent unless the origin is listed.'],
  'gateway:tools:list': [
    'gateway acceptance 19',
    'GET /tools lists every tool of the release, sorted, each starred parameter required.',
  ],
  'gateway:tools:stable': [
    'gateway acceptance 19',
    'GET /tools is byte-equal over gateways and time, with one strong ETag and 304.',
  ],
  'gateway:tools:profile': ['gateway discovery', 'A profile shapes the list; an unknown one is INVALID_REQUEST.'],
  'gateway:call:content': [
    'gateway acceptance 1',
    "A call with `args` and id 7 answers 200, id 7 and the tool's object in result.content.",
  ],
  'gateway:call:id': [
    'gateway acceptance 2',
    'A string, number or null id is echoed, an absent one is null, another kind is INVALID_REQUEST.',
  ],
  'gateway:call:malformed': [
    'gateway acceptance 3',
    'A batch, broken JSON, too deep, too large and a wrong media type have their own codes.',
  ],
  'gateway:call:garbage': [
    'gateway acceptance 3',
    'Thousands of seeded malformed requests give no 5xx, no crash, no byte outside the brain.',
  ],
  'gateway:call:fitting': [
    'gateway acceptance 3',
    'Odd calls of every tool that its declaration allows, about what there is, end in what it declares, never in a failure.',
  ],
  'gateway:call:bare': [
    'gateway acceptance 4',
    "A bare tool's object is the result itself, whatever its text looks like; its refusal is in result.content.",
  ],
  'gateway:call:arguments': [
    'gateway envelopes',
    '`arguments` absent or null is {}; together with `args`, or no object, it is INVALID_REQUEST.',
  ],
  'gateway:call:version': ['gateway envelopes', 'A wrong or missing jsonrpc is INVALID_REQUEST.'],
  'gateway:call:null-argument': ['gateway envelopes', 'An optional argument sent as null counts as absent.'],
  'gateway:call:magic-keys': [
    'gateway envelopes',
    'The keys __proto__, constructor and prototype anywhere are VAF_INPUT_INVALID.',
  ],
  'gateway:call:unknown': [
    'gateway envelopes',
    'An unknown method and an unknown tool are 404; the message names the nearest tools.',
  ],
  'gateway:call:problems': ['gateway envelopes', 'VAF_INPUT_INVALID lists every problem with its path.'],
  'gateway:call:request-id': [
    'gateway envelopes',
    'A good x-request-id comes back, a bad one is replaced, errors carry it.',
  ],
  'gateway:call:tools-list': ['gateway routes', 'POST /call answers tools/list too.'],
  'gateway:exec:forms': [
    'gateway routes',
    'POST /mcp/exec takes the JSON-RPC form and the short form, with results identical to those of /call.',
  ],
  'gateway:access:nothing': [
    'gateway credentials',
    'Without a credential a keyed node answers 401 with WWW-Authenticate on both doors.',
  ],
  'gateway:access:key': [
    'gateway credentials',
    'The key is taken as bearer and as x-api-key; the previous key too while it is configured.',
  ],
  'gateway:access:wrong': [
    'gateway credentials',
    'A wrong key is 401, also beside a good one, and never read from the URL.',
  ],
  'gateway:access:token': [
    'gateway acceptance 6',
    'A token that does not verify is 401 on every door, also beside the key, never anonymous.',
  ],
  'gateway:access:token-beside-key': [
    'gateway acceptance 5',
    'A token presented beside the key is judged as that token, never as the operator.',
  ],
  'gateway:access:keyless': [
    'gateway credentials',
    'On a keyless loopback node nobody needs a credential; a bearer that is no token is ignored.',
  ],
  'gateway:access:origin': [
    'gateway acceptance 17',
    'A keyless node refuses foreign origins and hosts with 403, and does not start on a wider address.',
  ],
  'gateway:limits:plan': [
    'gateway acceptance 9',
    "Of 300 simultaneous requests over all gateways exactly the plan's number pass; after the reset one passes.",
  ],
  'gateway:limits:headers': [
    'gateway limits',
    'Every counted reply carries limit, remaining and reset; /health and /ready are not counted.',
  ],
  'gateway:limits:failures': [
    'gateway limits',
    'After 20 wrong credentials a minute further ones are 429 while a good one still passes.',
  ],
  'gateway:limits:proxy': [
    'trusted proxy',
    'Clients behind a trusted proxy have limits of their own; without SVC_TRUST_PROXY no header is believed.',
  ],
  'gateway:limits:bodies': [
    'gateway limits',
    'Bodies of callers without a credential are not read: many that are held cost no memory and no other caller.',
  ],
  'gateway:limits:connections': [
    'gateway limits',
    'Connections of one address are bounded, and a socket without a good handshake ends within 5 s.',
  ],
  'gateway:limits:socket': [
    'gateway limits',
    'What one socket subscribes to and how often it resumes is bounded; its answers stay small.',
  ],
  'gateway:log:calls': [
    'operation',
    'The log line of a denied call carries its request id; with SVC_LOG_CALLS every call leaves one.',
  ],
  'gateway:idempotency:replay': [
    'gateway acceptance 10',
    'Equal calls with one key over all gateways have one effect and byte-equal replies, all but one marked replayed.',
  ],
  'gateway:idempotency:reuse': [
    'gateway acceptance 10',
    'The same key with other arguments is 409 IDEMPOTENCY_KEY_REUSED, after a restart too.',
  ],
  'gateway:idempotency:moved': [
    'gateway idempotency',
    'A repeat says what was said first, wherever the session has moved to since and whatever has gone.',
  ],
  'gateway:idempotency:refusal': ['gateway idempotency', 'A refusal is stored under its key; a call error is not.'],
  'gateway:idempotency:bound': [
    'gateway idempotency',
    'A key that an agent used elsewhere is a fresh one for its tokens that are bound to a workspace, and one for all of those.',
  ],
  'gateway:idempotency:secret': ['gateway idempotency', 'A replayed lock acquire shows no token and says replayed.'],
  'gateway:unavailable:fast': [
    'gateway acceptance 11',
    'With no process of its service a tool is 503 SERVICE_UNAVAILABLE at once.',
  ],
  'gateway:unavailable:unknown-outcome': [
    'gateway acceptance 11',
    'A write whose reply is lost is E_OUTCOME_UNKNOWN; repeated with its key it happens once.',
  ],
  'gateway:unavailable:unseen': [
    'gateway routes',
    'A gateway that has not heard of a service since it started answers its tools with 503 and when to come back, never that they do not exist.',
  ],
  'gateway:svc-call:inner': [
    'gateway acceptance 12',
    "svc_call answers the inner tool's result, checks its arguments, and does not nest.",
  ],
  'gateway:discovery:search': [
    'gateway tools',
    'tool_search finds tools by words, deterministically and within its limit.',
  ],
  'gateway:discovery:describe': [
    'gateway tools',
    'tool_describe gives the schemas of known tools and the nearest names of unknown ones.',
  ],
  'gateway:status:nodes': [
    'gateway tools',
    'nodes_list shows every process; svc_framework_status the platform, services and durability.',
  ],
  'gateway:sockets:handshake': [
    'gateway sockets',
    'A socket needs a credential in auth or headers, never in the URL; refusals name their code.',
  ],
  'gateway:sockets:delivery': [
    'gateway acceptance 14',
    'A socket that only listens hears the events it may read, once each and in order, on every gateway.',
  ],
  'events:registry': [
    'registry events',
    'Workspaces, roles, tokens, boundaries and denied checks are told to operators who listen.',
  ],
  'events:agents': [
    'agent events',
    'The life of an agent, its tasks and messages, its trust and decisions are told to operators who listen.',
  ],
  'events:organisations': [
    'team events',
    'Organisations, their parts and who comes and goes are told to operators who listen.',
  ],
  'events:names': [
    'brain events',
    'Brains and branches that get another name or end are told to operators who listen.',
  ],
  'events:sudo-denied': ['sudo events', 'A scope that was asked for and is taken back is told as denied.'],
  'gateway:sockets:subscribe': [
    'gateway sockets',
    'subscribe narrows by name or area, unsubscribe undoes it, a request that is none is refused.',
  ],
  'gateway:sockets:resume': [
    'gateway acceptance 15',
    'A client cut off during 500 events resumes after its last id without gap or repeat.',
  ],
  'gateway:sockets:gone': [
    'gateway sockets',
    'Resuming after an id that is not kept says E_EVENT_GONE and goes on live.',
  ],
  'gateway:drain:order': [
    'gateway acceptance 18',
    'On SIGTERM /ready is 503 within a second while /health is 200; calls in flight end well; exit code 0.',
  ],
  'gateway:drain:rolling-gateway': [
    'gateway acceptance 18',
    'Rolling restarts of a gateway under 50 clients fail no request.',
  ],
  'gateway:drain:rolling-brain': [
    'gateway acceptance 18',
    'Rolling restarts of a brain process under 50 clients fail no request.',
  ],
  'gateway:faults:standstill': [
    'reliability, fault tests',
    'A replica that stands still or is killed is noticed within seconds, and one that hesitates for less costs time alone; calls with a key and reads do not fail and cost at most 5 s, nothing acknowledged is lost, nothing happens late.',
  ],
  'gateway:faults:survived': [
    'reliability, fault tests',
    'Killed processes and restarted servers under load lose no acknowledged write and give typed errors only; traffic is back within 5 s.',
  ],
} as const;
