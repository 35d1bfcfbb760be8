/** Ports of this machine that nobody listens to. */
export function freePorts(count: number): Promise<number[]>
