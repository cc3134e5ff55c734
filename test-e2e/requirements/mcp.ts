/** The Model Context Protocol at /mcp. */
export const MCP = {
  'mcp:clients': [
    'gateway 7',
    'The official clients of both eras find the tools of their profile, write, commit, search and read, through any gateway.',
  ],
  'mcp:resources': [
    'gateway 7',
    'Files of brains are resources under the rules of every other door: one that may not be read answers like one that is not there.',
  ],
  'mcp:authority': [
    'gateway 6, 7; gateway acceptance 16',
    'Headers that contradict the body, sessions of others, tools outside the profile of a token and foreign origins get nothing; a refused spend is an answer that says so.',
  ],
  'mcp:conformance': [
    'gateway 7',
    'The official conformance runner finds nothing against the door, for every server scenario of both revisions it knows and of tasks.',
  ],
  'mcp:updates': [
    'gateway 7',
    'Whoever listens, in either era, hears of changes to the resources it named and may read, whichever gateway they and it came through.',
  ],
  'mcp:tasks': [
    'gateway 7',
    'A call that may take long is a task, found and cancelled through any gateway by its principal alone; it outlives the gateway that made it.',
  ],
} as const;
