def blocks(users: int, seed: int):
    raise NotImplementedError
