/** All services in one process: `npm start`. */
import { runOneProcess } from './one-process.ts';
import { SERVICES } from './services.ts';

await runOneProcess(SERVICES);
