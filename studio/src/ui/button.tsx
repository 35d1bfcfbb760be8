import type { ComponentProps } from 'react'
import './button.css'
import { Icon, type IconName } from './icon.js'

export interface ButtonProps extends ComponentProps<'button'> {
  readonly icon?: IconName | undefined
  readonly look?: 'plain' | 'primary' | 'danger' | 'quiet' | undefined
}

export function Button({ icon, look = 'plain', className = '', children, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} className={`button ${look} ${className}`}>
      {icon && <Icon name={icon} size={14} />}
      {children}
    </button>
  )
}

/** Without a word that can be seen: `label` is for those who hear it, and on hover. */
export function IconButton({
  label,
  icon,
  ...rest
}: ComponentProps<'button'> & { readonly label: string; readonly icon: IconName }) {
  return (
    <button type="button" aria-label={label} title={label} {...rest} className="icon-button">
      <Icon name={icon} size={14} />
    </button>
  )
}
