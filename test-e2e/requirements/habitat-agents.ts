/** Agents and the organisations they belong to. */
export const HABITAT_AGENTS = {
  'habitat:agents:first-of-a-team': [
    'agents acceptance 1',
    'Of two who spawn into a new team at once exactly one is admin, the other editor, through every gateway.',
  ],
  'habitat:agents:default-place': [
    'agents acceptance 2',
    'Without a team an agent is editor of the default workspace; a role it has already is not given again.',
  ],
  'habitat:agents:rights': [
    'agents acceptance 3',
    'A viewer who spawns an editor and an editor who spawns an admin are FORBIDDEN, and no agent comes of it.',
  ],
  'habitat:agents:borrowed': [
    'brain and team in row rules',
    'A spawn gives row rules a brain or a team only from whoever has it, or runs its home; nobody reads what is for others by naming them.',
  ],
  'habitat:agents:team-names': [
    'agents acceptance 4',
    'A team whose name could not name a workspace as it is, is VAF_INPUT_INVALID.',
  ],
  'habitat:agents:kill': [
    'agents acceptance 5',
    'From the next request on a killed agent has no token, no context and cannot be killed again, on every gateway.',
  ],
  'habitat:agents:inbox': [
    'agents acceptance 6',
    'A delegated task and a working agent are there after a restart of everything, and a replay gives the same task.',
  ],
  'habitat:agents:quota': [
    'agents acceptance 7',
    'The 201st live agent of a workspace is E_QUOTA, also when many come at once; after a kill one more fits.',
  ],
  'habitat:agents:broadcast': [
    'agents acceptance 8',
    'A message reaches every live agent of the workspace, none of another, and only editors send it.',
  ],
  'habitat:agents:prototypes': [
    'agent prototypes',
    'Markdown files of the category agents come over the built-in prototypes; what is not for everybody is not shown.',
  ],
  'habitat:teams:names': [
    'teams acceptance 1',
    'Organisations made at once are all there; of several with one name, in whatever case, one.',
  ],
  'habitat:teams:plan-is-bought': ['teams acceptance 2', 'Nobody but an operator gives an organisation a plan.'],
  'habitat:teams:own-making': [
    'organisations grant nothing outside themselves',
    'An organisation that nobody confirmed permits something inside itself alone; nobody is put into one by its owner, and everybody leaves.',
  ],
  'habitat:teams:cycles': ['teams acceptance 3', 'Nobody reports to themselves, directly or over others.'],
  'habitat:teams:permissions': [
    'teams acceptance 4',
    'A permission with an asterisk grants what is under it and nothing else.',
  ],
  'habitat:teams:invisible': [
    'teams acceptance 5',
    'An organisation that the caller does not belong to is not found, by id or by name.',
  ],
  'habitat:teams:rate': [
    'teams acceptance 6',
    'The rate limit of a member follows the plan of its organisation from the next request on.',
  ],
  'habitat:teams:moves': [
    'teams acceptance 7',
    'The owner of one organisation takes no agent out of another; an admin of both moves it.',
  ],
} as const;
