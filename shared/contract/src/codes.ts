/**
 * Every code a caller can meet, in two tables.
 * A *call error* is answered as JSON-RPC `error` with an HTTP status; a *refusal* is the domain's expected "no",
 * answered inside `result.content` with HTTP 200.
 */
interface CallErrorEntry {
  readonly status: number;
  readonly meaning: string;
  /** What to do about it, in `data.hint`, where the meaning is a fixed text that cannot say more. */
  readonly hint?: string;
}

export const CALL_ERRORS = {
  PARSE_ERROR: { status: 400, meaning: 'The body is not JSON.' },
  INVALID_REQUEST: { status: 400, meaning: 'The request does not have the form of a call.' },
  METHOD_NOT_FOUND: { status: 404, meaning: 'No such JSON-RPC method.' },
  TOOL_NOT_FOUND: { status: 404, meaning: 'No such tool.' },
  VAF_INPUT_INVALID: { status: 400, meaning: 'The arguments do not fit the tool.' },
  VAF_PATH_BLOCKED: {
    status: 400,
    meaning: 'The path is not a legal file name; data names the segment and the character.',
  },
  UNAUTHORIZED: { status: 401, meaning: 'A valid credential is needed.' },
  FORBIDDEN: { status: 403, meaning: 'The caller may not do this.' },
  RLS_DENIED: {
    status: 403,
    meaning: 'A row rule denies access.',
    hint: 'svc_habitat_can tells by which rule of the boundary; an admin of where the resource is at home may change it.',
  },
  E_QUARANTINED: {
    status: 403,
    meaning:
      'The caller, or an agent it descends from, is in quarantine and may only read, until an operator releases it, or an admin of the workspace that was its home when it was put there.',
  },
  E_ISLAND_WRITE_DENIED: { status: 403, meaning: 'The island is gated and the caller is anonymous.' },
  NOT_FOUND: { status: 404, meaning: 'No such address.' },
  BRAIN_LOAD_FAIL: {
    status: 404,
    meaning: 'Failed to load brain',
    hint: 'No such brain, or none that the caller may open: brain_list shows those, brain_push with create makes one.',
  },
  AGENT_NOT_FOUND: { status: 404, meaning: 'No such agent.' },
  METHOD_NOT_ALLOWED: { status: 405, meaning: 'The address does not take this verb.' },
  IDEMPOTENCY_KEY_REUSED: { status: 409, meaning: 'The idempotency key was used with other arguments.' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'The body is larger than 4 MiB.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, meaning: 'The body must be application/json.' },
  RATE_LIMITED: { status: 429, meaning: 'Too many requests; wait until the window resets.' },
  INTERNAL: { status: 500, meaning: 'The service failed. The request id finds the reason in its log.' },
  SERVICE_UNAVAILABLE: { status: 503, meaning: 'No service answers for this tool now.' },
  E_BUSY: { status: 503, meaning: 'Too much is waiting; try again shortly.' },
  TIMEOUT: { status: 504, meaning: 'The deadline passed.' },
  E_OUTCOME_UNKNOWN: {
    status: 504,
    meaning: 'The write may or may not have happened; repeat it with the same idempotency key.',
  },
} as const satisfies Record<string, CallErrorEntry>;

export type CallErrorCode = keyof typeof CALL_ERRORS;

export const REFUSALS = {
  AGENT_NOT_FOUND: 'No such agent.',
  E_ADDRESS_COLLISION: 'Other data lies under that address; nothing was stored.',
  E_ADDRESS_CORRUPT: 'What lies under that address is not what was stored there.',
  E_ADDRESS_DENIED:
    'The name leads to an address that is not public; only an operator can list such an endpoint, in network.allowPrivate.',
  E_ALREADY_VOTED: 'The voter has voted on that topic; previous names the choice.',
  E_ACCOUNT_EXISTS: 'The account exists with another limit.',
  E_AMBIGUOUS: 'Several things have that name; use the id.',
  E_AMOUNT: 'More than is held.',
  E_BARCODE_INVALID: 'That is no barcode: its form or its check symbol is wrong.',
  E_BID_ABSENT: 'No such bid, or none that the caller may see.',
  E_BID_CLOSED: 'The bid was accepted or withdrawn, or its time is over.',
  E_BRAIN_DIVERTED:
    'A person has the branch checked out elsewhere, or another branch or a merge in progress in its working tree; only reads work meanwhile.',
  E_BRANCH_ABSENT: 'No such branch; svc_list_branches shows those there are.',
  E_BRANCH_PROTECTED: 'The branch main is neither deleted nor renamed.',
  E_BRANCH_EXISTS: 'A branch with that name, or one it would collide with, exists.',
  E_BUDGET: 'The budget does not allow it.',
  E_BUSY: 'Too much is waiting; try again shortly.',
  E_CHANNEL_ABSENT: 'No such channel, or none in which the caller may read and write.',
  E_CITED: 'The commit is cited with that context.',
  E_CLOSED: 'The topic is decided; status says how.',
  E_COLLISION: 'A topic of that name exists.',
  E_COMPUTE_ERROR: 'The code threw; name, message and line say what and where.',
  E_COMPUTE_MEMORY: 'The code took more memory than it may, and was ended.',
  E_COMPUTE_OUTPUT:
    'The result has no JSON form, is too large or too deep; end the code with an expression that has one.',
  E_COMPUTE_TIMEOUT: 'The code took longer than it may, and was ended.',
  E_CONFIG_FILE: 'config.json of the brain is no JSON object of at most 256 KiB; mend the file first.',
  E_CONFIG_KEY:
    'No key, or one among those of the node that no setting has; nearest names some, svc_config_get shows all.',
  E_CONFIG_SECRET: 'A secret is kept in the environment, never here.',
  E_CONFLICT: 'The file is not in the state the caller expected; read it again first.',
  E_CONNECTOR_ABSENT: 'No such connector; svc_connector_list shows those there are.',
  E_CONSENT: 'Without consent nothing is offered, bought or sold.',
  E_CRON_ABSENT: 'No such job, or none that the caller may see.',
  E_CRON_BUSY: 'The job runs; a job never runs beside itself.',
  E_CRON_TAKEN: 'Somebody else has a job with that id.',
  E_CRON_TOOL: 'A job neither makes nor runs jobs.',
  E_CYCLE: 'That would make a circle.',
  E_DEADLINE: 'The deadline is too near or too far.',
  E_DIR_NOT_EMPTY: 'The directory holds files; recursive removes them too.',
  E_DISABLED: 'It is switched off; needs names the settings, or what the machine lacks.',
  E_DUPLICATE: 'That name is taken.',
  E_EMBEDDER_UNAVAILABLE: 'The embedder does not answer as it should; reason says why. Search by words goes on.',
  E_ENTRY_ABSENT: 'No such payment.',
  E_EVOLUTION_ABSENT: 'No session of work goes on; brain_evolution_start begins one.',
  E_EVOLUTION_ACTIVE: 'A session of work goes on; brain_evolution_end ends it.',
  E_EVENT_GONE: 'That event is not kept any more.',
  E_FENCED: 'The fence does not belong to a live lease; svc_lock acquires a new one.',
  E_FILE_ABSENT: 'No such file.',
  E_AUTH: 'The other side refuses the credential.',
  E_BACKUP_ABSENT: 'There is no such backup.',
  E_BACKUP_CORRUPT: 'The backup is damaged; nothing changed.',
  E_FORUM_ABSENT: 'No such thread, or none that the caller may see.',
  E_FILE_EXISTS: 'Something has that name already.',
  E_FUNCTION: 'Neither a listed function nor the source of one; compute_list names those that there are.',
  E_HOLD_ABSENT: 'No such hold.',
  E_HOLD_CLOSED: 'The hold is closed.',
  E_HOLD_EXISTS: 'The caller holds under that id already.',
  E_HOLD_EXPIRED: 'The hold is past its time.',
  E_HOLD_LIMIT: 'Too many live holds.',
  E_HOST_DENIED: 'The host is not listed in network.allow with that port.',
  E_INBOX_FULL: 'The inbox of the agent is full.',
  E_ISLAND_ABSENT: 'No such island.',
  E_ISLAND_DISABLED: 'The island is switched off; svc_enable_island switches it on.',
  E_ISLAND_EXISTS: 'An island with that name exists.',
  E_ISLAND_INVALID: 'The file of the island does not parse: its front matter, or its JSON.',
  E_JOB_ABSENT: 'No such job of the caller, or its output is not kept any more.',
  E_LANGUAGE: 'No such language; languages names those that there are.',
  E_LAST_ADMIN: 'The workspace would be left without an admin.',
  E_LAYER_DOWN: 'A part that everything needs does not answer; down names it, svc_boot_layers tells more.',
  E_LEASE_ABSENT: 'There is no live lease.',
  E_LEASE_HELD: 'Somebody else works on it until then.',
  E_LEASE_LOST: 'The caller does not hold the work now: it was never taken, its time is over, or another has it.',
  E_LEASE_TOKEN: 'The token does not belong to the live lease.',
  E_LEDGER_FORK: 'The owner of the topic signed two things that contradict each other; its copy here is frozen.',
  E_LEDGER_FROZEN: 'The account is frozen until an operator has repaired it.',
  E_LINEAGE_ABSENT: 'No such event in the lineage of the workspace.',
  E_LINEAGE_CYCLE: 'Something would descend from itself.',
  E_LINEAGE_PARENT: 'No such parent in the lineage of the workspace.',
  E_LIMIT: 'A limit of the service is reached.',
  E_LIMIT_BELOW_COMMITTED: 'More than that is spent or reserved already.',
  E_LISTING_ABSENT: 'No such listing, or none that the caller may see.',
  E_LOCKED: 'The holder has the lease until it releases it, or expiresAt; its token keeps it longer or releases it.',
  E_MEMBER_LIMIT: "The member's limit does not allow it.",
  E_NOT_AVAILABLE: 'The work is not to be begun yet.',
  E_NOT_BUYER: 'Only the buyer may do this.',
  E_NOT_CONFIGURED: 'The operator has not set what this needs; settings, or missing, names it.',
  E_NOT_CREATOR: 'Only who made it may do this, or an admin of its workspace.',
  E_NOT_FOUND: 'No such thing, or none that the caller may see.',
  E_NOT_JSON: 'The answer is not JSON.',
  E_NOT_OWNER: 'The topic belongs to another node; owner names it.',
  E_NOT_REGISTRY: 'The voter is not registered as somebody who may vote here.',
  E_NOT_RELATED: 'The two share no workspace.',
  E_NOT_SELLER: 'Only the seller may do this.',
  E_NOT_SKILL: 'The listing offers no skill.',
  E_NOT_TEXT: 'The file is not UTF-8 text.',
  E_NO_AGENT:
    'Nobody is named as whom the call acts: an agent calls with its token, an operator names one with x-svc-agent.',
  E_OUTCOME: 'That is none of the options.',
  E_OUTCOME_UNKNOWN: 'No answer came in time; it may have taken effect, and repeating it does no harm.',
  E_NODE: 'No such node, or none that can be asked; agora_nodes shows those there are.',
  E_PARENT_REQUIRED: 'Several parents are possible; name one.',
  E_POOL_EXCEEDED: 'The pool of the workspace does not allow it.',
  E_PROTO_ABSENT: 'No such prototype.',
  E_QUARANTINED: 'The entity is in quarantine.',
  E_QUOTA: 'The quota is used up.',
  E_RATE_LIMIT: 'Too many of these in a short time.',
  E_READ_ONLY: 'The brain is read-only in this session; brain_push with type private puts it there writable.',
  E_RECURSION_OPERATION: 'No such operation, or none that can be used here; operations names those that are built in.',
  E_RECURSION_TAKEN: 'That name belongs to a built-in operation, a tool or somebody else.',
  E_REDIRECT: 'The redirects are too many, or lead to what is no address.',
  E_REFUNDED: 'More than was paid.',
  E_REF_ABSENT: 'No such commit, branch or rescue reference.',
  E_REF_AMBIGUOUS: 'Several commits begin like that; name more of it.',
  E_REF_REUSED: 'The reference was used for something else.',
  E_REMOTE_ABSENT: 'There is no such remote, or it has no such repository, or does not show it to this credential.',
  E_REMOTE_AUTH: 'The remote refuses the credential.',
  E_REMOTE_CORRUPT: 'The remote sent damaged or dangerous data.',
  E_REMOTE_FULL: 'The remote has no room for it.',
  E_REMOTE_RACE: 'The remote kept moving; try again.',
  E_REMOTE_REJECTED: 'The remote refuses the push.',
  E_REMOTE_TLS: 'The remote cannot prove who it is: certificate or host key.',
  E_REMOTE_UNREACHABLE: 'The remote cannot be reached.',
  E_RETRY_EXHAUSTED: 'The last attempt failed as those before it; last says how.',
  E_REMOTE_ERROR: 'The other node answered with an error; remote holds what it said.',
  E_REMOTE_LOOP: 'The call has come through as many nodes as it may.',
  E_REMOTE_TAKEN: 'Another remote has that name.',
  E_RETRY_FAILED: 'It failed in a way that another attempt would not mend; last says how.',
  E_RUNAWAY: 'Too many draws within a minute.',
  E_SCENARIO_ABSENT: 'No such crew, or none that the caller may see.',
  E_SCENARIO_BUDGET:
    'The pool does not bear it; available tells what it bears. A crew has at least one credit for each agent, at most 100000.',
  E_SCENARIO_CREW: 'A crew has 2-10 agents.',
  E_SCENARIO_DELEGATE: 'No member of the crew lives that could do it.',
  E_SCENARIO_NAME:
    'The name is taken, or is not 1-64 letters, digits, dots, underscores or dashes with a letter or digit among them.',
  E_SCENARIO_NO_QUORUM: 'Too few members may vote: alive, not in quarantine, trust 0.3 or more.',
  E_SCENARIO_QUARANTINED: 'A member is in quarantine, or nobody can tell; nothing was held.',
  E_SCENARIO_SPAWN: 'The registry did not spawn the crew, for the reason it gives; nothing of it is left.',
  E_SCENARIO_TASK: 'A task is 1-512 characters of text.',
  E_SCOPE: 'The scope is unknown, or none to which the caller belongs.',
  E_SELF_TRADE: 'Nobody trades with themselves or within their family, the tree of spawns they belong to.',
  E_SELF_TRUST: 'Nobody rates themselves or within their family, the tree of spawns they belong to.',
  E_SELLER_TRUST: 'The seller is trusted too little to sell.',
  E_SHELL_DENIED: 'The program is not in shell.allow; it is named there without a path.',
  E_SHELL_SANDBOX: 'The sandbox could not start the program; problem says why.',
  E_SHELL_SYNTAX: 'The line is split into words and nothing else: what a shell would act on has to stand in quotes.',
  E_SIGNATURE: 'What came is not signed by whom it names; nothing from there on was taken.',
  E_SKILL_ALREADY_DELIVERED: 'The skill was delivered before.',
  E_SKILL_ALREADY_SETTLED: 'The trade was settled before.',
  E_SKILL_CANCELLED: 'The trade was cancelled.',
  E_SKILL_DELIVERED: 'The skill is delivered; now the buyer confirms or refutes it.',
  E_SKILL_DISABLED: 'Skills are not traded on this node; an operator turns that on with market_skill_gate.',
  E_SKILL_EXPIRED: 'The time of the trade is over.',
  E_SKILL_LAUNCH: 'What is made to start something is not traded.',
  E_SKILL_NOT_BUYER: 'Only the buyer settles.',
  E_SKILL_NOT_DELIVERED: 'There is nothing to settle before the delivery.',
  E_SKILL_NOT_SELLER: 'Only the seller delivers.',
  E_SKILL_PAYLOAD: 'The payload is larger than 64 KiB.',
  E_SNAPSHOT_ABSENT: 'No manifest has an id that begins so, or none that the caller may read.',
  E_SNAPSHOT_AMBIGUOUS: 'Several manifests have an id that begins so; name more of it.',
  E_SNAPSHOT_BUDGET: 'The line scenario:materialize of the actor does not have what materializing costs.',
  E_SNAPSHOT_MANIFEST: 'That is no manifest, or not the one that was stored under this id.',
  E_SNAPSHOT_NAME:
    'A world is called by 1-64 letters, digits or ._- and begins with a letter or digit, without .., a dot at the end or a device name; a child has no dot.',
  E_SNAPSHOT_UNIVERSE:
    'The universe must be 1-256 bytes of text without control characters, and the same for both sides.',
  E_SNAPSHOT_WORLD_MISMATCH: 'The manifests are of different worlds.',
  E_SOLD_OUT: 'Everything of the listing is taken.',
  E_STACK_EMPTY: 'The last brain of the stack stays; brain_switch replaces it.',
  E_STATE_LOCKED: 'Somebody else holds the lease of the brain, or the brain does not answer.',
  E_STATE_WRITE: 'The disk refused the write; nothing changed.',
  E_STREAM_ABSENT: 'No such queue, or none that the caller may see.',
  E_STREAM_EXISTS: 'The queue exists with other options.',
  E_STREAM_FULL: 'The queue holds as much as it may.',
  E_STREAM_INBOX: 'Inboxes of agents are filled by svc_agents_delegate_mcp alone.',
  E_SUDO_SCOPE: 'No such scope.',
  E_SUDO_TASK_ABSENT: 'No such task.',
  E_SUDO_TASK_EXISTS: 'The task id belongs to somebody else.',
  E_IMAGE_INVALID: 'The image is no PNG that can be used.',
  E_IMAGE_LIMIT: 'The image is too large.',
  E_STEGO_CAPACITY: 'The message does not fit into the image.',
  E_STEGO_CORRUPT: 'The message in the image is damaged.',
  E_STEGO_NONE: 'The image holds no message.',
  E_STEGO_PASSWORD: 'The message in the image needs its password.',
  E_SYNC_FAILED: 'Nothing could be synced; results name the reason of each part.',
  E_SYNC_CONFLICT: 'Both sides changed the same place.',
  E_THREAD_LINKED: 'The thread has a vote that is open.',
  E_TIMEOUT: 'There was no whole answer in time.',
  E_TLS: 'The host could not prove who it is.',
  E_TMP_ABSENT: 'No such temporary file, or its time is over.',
  E_TOO_LARGE: 'The answer is larger than it may be.',
  E_TOPIC_ABSENT: 'No such topic, or none that the caller may see.',
  E_TOPIC_CONFLICT: 'Another topic has that name here.',
  E_TOPIC_LOCAL: 'The topic was made while this deployment had no name; it never leaves it.',
  E_TRADE_ABSENT: 'No such trade, or none of the caller.',
  E_TRADE_CLOSED: 'The trade is closed.',
  E_TYPE: 'The answer is not of a type that is read: text, JSON or XML.',
  E_UNDER_WAY: 'It takes longer than this call could wait and goes on; repeat the call to learn how it ends.',
  E_UNKNOWN_WORKSPACE: 'No such workspace, or none in which the caller has a role.',
  E_WORK_ABSENT: 'No such work, or none that the caller may see.',
  E_WORK_CLOSED: 'The work is done, or given up after its last attempt; status tells which.',
  HABITAT_UNKNOWN_WORKSPACE: 'No such workspace.',
  HABITAT_WORKSPACE_EXISTS: 'A workspace with that name exists.',
  NOT_APPLICABLE: 'This has no meaning over the wire.',
  SERVICE_UNAVAILABLE: 'The other side does not answer now.',
  E_UNREACHABLE: 'Nobody answers there.',
} as const satisfies Record<string, string>;

export type RefusalCode = keyof typeof REFUSALS;

export type ErrorDetails = Record<string, unknown>;

/** A call error on its way to the edge; `status` overrides the table where a code has two (BRAIN_LOAD_FAIL). */
export class CallError extends Error {
  readonly code: CallErrorCode;
  readonly status: number;
  readonly details: ErrorDetails;

  constructor(code: CallErrorCode, message?: string, details: ErrorDetails = {}, status?: number) {
    super(message ?? CALL_ERRORS[code].meaning);
    this.code = code;
    this.details = details;
    this.status = status ?? CALL_ERRORS[code].status;
  }
}

/** A call that came to its turn only when others may have given it up; nothing of it was done. */
export class LateCall extends CallError {
  constructor() {
    super('SERVICE_UNAVAILABLE', undefined, { retryAfterMs: 50 });
  }
}

/** The domain's expected "no" on its way to the edge. */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly details: ErrorDetails;

  constructor(code: RefusalCode, details: ErrorDetails = {}, message?: string) {
    super(message ?? REFUSALS[code]);
    this.code = code;
    this.details = details;
  }
}
