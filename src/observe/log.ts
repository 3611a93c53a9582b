/** How serious an event is: nothing is wrong, an operator should look at it soon, or something does not work. */
export type Level = 'info' | 'warn' | 'error';

/** What an event is about, by name: further members of its line in JSON. */
export type LogFields = Readonly<Record<string, string | number>>;

/** Logs an event in one line. The level is `info` unless another is given. */
export type Log = (message: string, level?: Level, fields?: LogFields) => void;
