/** `npm start`: all services in one process; with a prompt, or the protocol of agents on stdio, where SVC_MODE says so. */
import { existsSync } from 'node:fs';
import { runOneProcess } from './one-process.ts';
import { SERVICES } from './services.ts';

/** What is set already stays. */
if (existsSync('.env')) process.loadEnvFile('.env');

const startNode = (): Promise<void> => runOneProcess(SERVICES);
const mode = process.env['SVC_MODE'];
if (mode === 'mcp') await import('./mcp.ts');
else if (mode === 'cli') await (await import('./prompt-mode.ts')).runPromptMode(startNode);
else await startNode();
