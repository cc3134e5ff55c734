/** The edge of a deployment: what it can reach outside, other nodes, and how a session begins. */
export const DOORS = {
  'connectors:listed': [
    'universe acceptance: connectors 1; universe acceptance: connectors 3',
    'A connector that nobody configured says which settings it lacks, refuses to connect, and one that does not exist is none.',
  ],
  'connectors:wrong-token': [
    'universe acceptance: connectors 2',
    'A token that the remote host refuses is E_AUTH, and stands in no reply, event or log.',
  ],
  'remote:called': [
    'universe acceptance: remote nodes 1',
    'A tool of another node is called with the credential that a variable names; a wrong one is what the other node says of it.',
  ],
  'remote:added': [
    'universe acceptance: remote nodes 2; universe acceptance: remote nodes 5',
    'Only nodes that were added are called, at addresses that may be reached, and their tokens are never given or shown.',
  ],
  'remote:loop': ['universe acceptance: remote nodes 3', 'A call that goes round through nodes ends at the fourth.'],
  'remote:git': [
    'universe rules: remote nodes, git',
    'A git remote that an operator adds is synced with at once, by the brain that it is for alone, and no more once removed.',
  ],
  'remote:silent': [
    'universe acceptance: remote nodes 4',
    'What a node that is silent, away or endless did is told as it is known.',
  ],
  'boot:scopes': [
    'universe acceptance: boot 2',
    'A session that begins with scopes holds what its caller may have at once, and waits for the others.',
  ],
  'boot:sessions': [
    'universe acceptance: boot 3',
    'A session that ends its work gives up its scopes, and another one of the same caller keeps its own.',
  ],
  'boot:refused': [
    'universe: boot, refusals',
    'A session does not begin under a scope that is none, the task of somebody else, or more than may be asked for.',
  ],
  'boot:restart': ['universe acceptance: boot 4', 'After a restart no session has begun its work.'],
  'boot:store-down': [
    'universe acceptance: boot 1',
    'Without PostgreSQL the store is down, the deployment is not ready, and no session begins.',
  ],
} as const;
