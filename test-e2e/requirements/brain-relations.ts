/** What is promised of notes about files and commits, of links, attention, insights and sessions of work. */
export const BRAIN_RELATIONS = {
  'resolution:kept': [
    'resolution acceptance 1',
    'What was decided about a file is listed newest first with who and where; 100 at once are 100; events tell readers.',
  ],
  'resolution:rows': [
    'resolution, rows',
    'What was decided about a file is told only to whom the file may be told, and noted only by who may write it.',
  ],
  'citation:lease': [
    'resolution acceptance 5',
    'Whom the lease of another keeps out cites nothing; a commit that was never cited is quoted as such.',
  ],
  'links:walk': [
    'brain tools acceptance 5',
    'What is linked is found from both ends, as far as asked and no farther, also in a ring; of hidden files nothing.',
  ],
  'attention:fades': [
    'brain tools acceptance 6',
    'What is attended to is shown with what it has now, on every process; more than all of it is refused.',
  ],
  'discover:kinds': [
    'brain discover',
    'Agents, skills, insights, islands, brains and files that have to do with a question are found, of each what the caller may see.',
  ],
  'synapses:learned': [
    'brain acceptance, synapses',
    'Going from one brain to another is learned for the workspace, and told of brains that may be seen.',
  ],
  'insights:shared': [
    'brain acceptance, insights',
    'What was learned is shared with the workspace, newest first, and told to nobody else.',
  ],
  'evolution:one': [
    'brain tools acceptance 8',
    'Hundreds of insights at once begin one session of work, of which 200 are kept and all are counted.',
  ],
  'evolution:changes': [
    'brain acceptance, evolution',
    'A session of work holds what its own session wrote and committed while it went on, whichever process did it.',
  ],
} as const;
