// Values by the names of runs: an id belongs to a workspace. Pure.

interface Named {
  readonly workspace: string
  readonly id: string
}

export class ByRun<T> {
  private readonly spaces = new Map<string, Map<string, T>>()
  size = 0

  get({ workspace, id }: Named): T | undefined {
    return this.spaces.get(workspace)?.get(id)
  }

  has(run: Named): boolean {
    return this.get(run) !== undefined
  }

  set({ workspace, id }: Named, value: T): void {
    let space = this.spaces.get(workspace)
    if (!space) {
      space = new Map()
      this.spaces.set(workspace, space)
    }
    if (!space.has(id)) this.size += 1
    space.set(id, value)
  }

  delete({ workspace, id }: Named): void {
    const space = this.spaces.get(workspace)
    if (!space?.delete(id)) return
    this.size -= 1
    if (space.size === 0) this.spaces.delete(workspace)
  }

  clear(): void {
    this.spaces.clear()
    this.size = 0
  }
}
